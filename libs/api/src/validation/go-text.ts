import { ownValue, Verbatim } from '@holdfast/machinery';

/**
 * Some error messages of Kubernetes show a value in Go's debug syntax, and clients match on them. Addresses in such
 * texts are meaningless, so every pointer prints the same one.
 */
const ADDRESS = '0xc000000000';

const quote = (text: string): string => JSON.stringify(text);

export const goStringMapText = (map: Readonly<Record<string, string>> | undefined): string =>
  map === undefined
    ? 'map[string]string(nil)'
    : `map[string]string{${Object.keys(map)
        .sort()
        .map((key) => `${quote(key)}:${quote(ownValue(map, key) ?? '')}`)
        .join(', ')}}`;

export const goStringMap = (map: Readonly<Record<string, string>> | undefined): Verbatim =>
  new Verbatim(() => goStringMapText(map));

export const goStringsText = (values: readonly string[] | undefined, type = 'string'): string =>
  values === undefined ? `[]${type}(nil)` : `[]${type}{${values.map(quote).join(', ')}}`;

export const goStrings = (values: readonly string[] | undefined, type = 'string'): Verbatim =>
  new Verbatim(() => goStringsText(values, type));

export const goIntOrStringText = (value: number | string | undefined): string =>
  typeof value === 'string'
    ? `intstr.IntOrString{Type:1, IntVal:0, StrVal:${quote(value)}}`
    : `intstr.IntOrString{Type:0, IntVal:${value ?? 0}, StrVal:""}`;

export const goIntOrString = (value: number | string | undefined): Verbatim => new Verbatim(goIntOrStringText(value));

/** Bytes from base64: `[]byte{0x78, 0xa}`. */
export function goBytes(base64: string): Verbatim {
  return new Verbatim(() => {
    const bytes = [...Buffer.from(base64, 'base64')].map((byte) => `0x${byte.toString(16)}`);
    return `[]byte{${bytes.join(', ')}}`;
  });
}

/** A time, which prints itself: `2024-05-06 07:08:09 +0000 UTC`. */
export const goInstant = (time: string | undefined): Verbatim =>
  new Verbatim(`${(time ?? '').slice(0, 19).replace('T', ' ')} +0000 UTC`);

/** A pointer field: `(*bool)(nil)` or `(*bool)(0x...)`. */
export const goPointer = (type: string, value: unknown): string =>
  `(*${type})(${value === undefined || value === null ? 'nil' : ADDRESS})`;

export const goString = (value: string | undefined): string => quote(value ?? '');

/** A struct: `core.ServicePort{Name:"", ...}`; the fields are Go text already. */
export const goStruct = (type: string, fields: Readonly<Record<string, string>>): Verbatim =>
  new Verbatim(() => goStructText(type, fields));

export const goStructText = (type: string, fields: Readonly<Record<string, string>>): string =>
  `${type}{${Object.entries(fields)
    .map(([name, text]) => `${name}:${text}`)
    .join(', ')}}`;
