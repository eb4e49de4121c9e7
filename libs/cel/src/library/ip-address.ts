/** IP addresses as bytes: 4 or 16. */
export type IpBytes = readonly number[];

const IPV4_PART = /^(?:0|[1-9]\d{0,2})$/;
const HEX_PART = /^[0-9a-fA-F]{1,4}$/;
const V4_LENGTH = 4;
const V6_GROUPS = 8;

/** Parses an address as Go's netip does, without zones. Returns `undefined` for any other text. */
export function parseIp(text: string): IpBytes | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): IpBytes | undefined {
  const parts = text.split('.');
  if (parts.length !== V4_LENGTH || !parts.every((part) => IPV4_PART.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): IpBytes | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = V6_GROUPS - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail].flatMap((group) => [group >> 8, group & 0xff]);
}

/** The last group may be an IPv4 address, which counts as two groups. */
function groupsOf(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1) ?? '';
  const ipv4 = mayEndInIpv4 && last.includes('.') ? parseIpv4(last) : undefined;
  const hex = ipv4 === undefined ? parts : parts.slice(0, -1);
  if (!hex.every((part) => HEX_PART.test(part))) return undefined;
  const groups = hex.map((part) => Number.parseInt(part, 16));
  if (ipv4 === undefined) return groups;
  const [a = 0, b = 0, c = 0, d = 0] = ipv4;
  return [...groups, (a << 8) | b, (c << 8) | d];
}

/** True for an IPv4 address written as IPv6. */
export function isMapped(bytes: IpBytes): boolean {
  return (
    bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  );
}

export function formatIp(bytes: IpBytes): string {
  if (bytes.length === V4_LENGTH) return bytes.join('.');
  if (isMapped(bytes)) return `::ffff:${bytes.slice(12).join('.')}`;
  const groups = Array.from(
    { length: V6_GROUPS },
    (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0),
  );
  const { start, length } = longestZeros(groups);
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let index = 0; index <= groups.length; index += 1) {
    if (groups[index] === 0) continue;
    if (index - start > best.length) best = { start, length: index - start };
    start = index + 1;
  }
  return best;
}

/** Clears all address bits after the prefix. */
export function maskIp(bytes: IpBytes, prefix: number): IpBytes {
  return bytes.map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
}

export function sameIp(left: IpBytes, right: IpBytes): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
