/** Bits of the key usage extension (RFC 5280). */
const KEY_USAGES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    signing: 1,
    'digital signature': 1,
    'content commitment': 2,
    'key encipherment': 4,
    'data encipherment': 8,
    'key agreement': 16,
    'cert sign': 32,
    'crl sign': 64,
    'encipher only': 128,
    'decipher only': 256,
  }),
);

const EXTENDED_USAGES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    any: '2.5.29.37.0',
    'server auth': '1.3.6.1.5.5.7.3.1',
    'client auth': '1.3.6.1.5.5.7.3.2',
    'code signing': '1.3.6.1.5.5.7.3.3',
    'email protection': '1.3.6.1.5.5.7.3.4',
    's/mime': '1.3.6.1.5.5.7.3.4',
    'ipsec end system': '1.3.6.1.5.5.7.3.5',
    'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
    'ipsec user': '1.3.6.1.5.5.7.3.7',
    timestamping: '1.3.6.1.5.5.7.3.8',
    'ocsp signing': '1.3.6.1.5.5.7.3.9',
    'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
    'netscape sgc': '2.16.840.1.113730.4.1',
  }),
);

/** The usages of a request as certificates name them. */
export function usagesOf(names: readonly string[]): { readonly flags: number; readonly extended: readonly string[] } {
  const flags = names.reduce((sum, name) => sum | (KEY_USAGES.get(name) ?? 0), 0);
  return { flags, extended: [...new Set(names.flatMap((name) => EXTENDED_USAGES.get(name) ?? []))] };
}
