/** IP addresses and networks, parsed as Go's net package does. */
export const IP_TEXT = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
export const CIDR_TEXT = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

export type IpFamily = 'IPv4' | 'IPv6';

export interface Ip {
  readonly family: IpFamily;
  readonly value: bigint;
}

export function parseIp(text: string): Ip | undefined {
  const v4 = parseV4(text);
  if (v4 !== undefined) return { family: 'IPv4', value: v4 };
  const v6 = parseV6(text);
  if (v6 === undefined) return undefined;
  // ::ffff:1.2.3.4 equals the IPv4 address that it maps.
  return v6 >> 32n === 0xffffn ? { family: 'IPv4', value: v6 & 0xffffffffn } : { family: 'IPv6', value: v6 };
}

/** Leading zeros are accepted, because objects of older clients contain them. */
function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined;
    value = (value << 8n) | BigInt(Number(part));
  }
  return value;
}

function parseV6(text: string): bigint | undefined {
  if (!text.includes(':') || text.includes('%')) return undefined;
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0n), ...tail];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

function groupsOf(text: string, mayEndInV4: boolean): bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: bigint[] = [];
  for (const [i, part] of parts.entries()) {
    const v4 = mayEndInV4 && i === parts.length - 1 ? parseV4(part) : undefined;
    if (v4 !== undefined) groups.push(v4 >> 16n, v4 & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else return undefined;
  }
  return groups;
}

export interface Cidr {
  readonly ip: Ip;
  readonly prefix: number;
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return undefined;
  const ip = parseIp(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  if (ip === undefined || !/^\d{1,3}$/.test(bits)) return undefined;
  const prefix = Number(bits);
  return prefix <= (ip.family === 'IPv4' ? 32 : 128) ? { ip, prefix } : undefined;
}

export const isIp = (text: string): boolean => parseIp(text) !== undefined;
export const isIpv6 = (text: string): boolean => parseIp(text)?.family === 'IPv6';

/** True when `inner` is inside `outer`. */
export function cidrContains(outer: Cidr, inner: Cidr): boolean {
  if (outer.ip.family !== inner.ip.family || inner.prefix < outer.prefix) return false;
  const shift = BigInt((outer.ip.family === 'IPv4' ? 32 : 128) - outer.prefix);
  return outer.ip.value >> shift === inner.ip.value >> shift;
}

/** Returns the canonical text of an address; IPv6 follows RFC 5952. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return undefined;
  if (ip.family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (ip.value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((ip.value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16));
  // Omits the longest run of zeros, the first of equal runs, but not a single zero.
  const runs = [...groups.join(':').matchAll(/\b0(?::0)+\b/g)].map(([run]) => run);
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
  if (longest === '') return groups.join(':');
  return groups.join(':').replace(new RegExp(`(^|:)${longest}(:|$)`), '::');
}
