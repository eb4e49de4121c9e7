import { canonicalIp } from '@holdfast/api';

const V4_ZONE = '.in-addr.arpa';
const V6_ZONE = '.ip6.arpa';
const V6_NIBBLES = 32;

/** The address that a name of a reverse zone asks about, in canonical text; `undefined`: it is none. */
export function addressOfReverseName(name: string): string | undefined {
  if (name.endsWith(V4_ZONE)) return canonicalV4(name.slice(0, -V4_ZONE.length).split('.').toReversed().join('.'));
  if (!name.endsWith(V6_ZONE)) return undefined;
  const nibbles = name.slice(0, -V6_ZONE.length).split('.').toReversed();
  if (nibbles.length !== V6_NIBBLES || nibbles.some((nibble) => !/^[0-9a-f]$/.test(nibble))) return undefined;
  return canonicalIp(nibbles.join('').replaceAll(/(.{4})(?!$)/g, '$1:'));
}

/** `10-244-1-5` or, for IPv6, `fd00--5`: the address of a pod as a label. */
export function addressOfLabel(label: string): string | undefined {
  return canonicalV4(label.replaceAll('-', '.')) ?? canonicalIp(label.replaceAll('-', ':'));
}

const canonicalV4 = (text: string): string | undefined =>
  /^\d+(?:\.\d+){3}$/.test(text) ? canonicalIp(text) : undefined;
