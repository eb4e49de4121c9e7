import { type Cidr, canonicalIp, isIpv6, parseCidr } from '@holdfast/api';
import type { Family } from '../ruleset/model.ts';

/** The canonical addresses of a family. */
export const addressesOf = (texts: readonly string[], family: Family): readonly string[] =>
  texts
    .map((text) => canonicalIp(text))
    .filter((ip) => ip !== undefined)
    .filter((ip) => isIpv6(ip) === (family === 'ip6'));

/** The networks of a family, without those that lie in another one: nft refuses ranges that overlap. */
export function rangesOfFamily(texts: readonly string[], family: Family): readonly string[] {
  return rangeTexts(
    mergeRanges(texts.map((text) => rangeOf(text, family)).filter((range) => range !== undefined)),
    family,
  );
}

/** First and last address. */
export type AddressRange = readonly [first: bigint, last: bigint];

export const bitsOf = (family: Family): number => (family === 'ip' ? 32 : 128);

/** `undefined` for a network of the other family, and for text that is no network. */
export function rangeOf(text: string, family: Family): AddressRange | undefined {
  const cidr = parseCidr(text.trim());
  if (cidr === undefined || (cidr.ip.family === 'IPv4') !== (family === 'ip')) return undefined;
  return rangeOfCidr(cidr, family);
}

function rangeOfCidr({ ip, prefix }: Cidr, family: Family): AddressRange {
  const size = 1n << BigInt(bitsOf(family) - prefix);
  const first = (ip.value / size) * size;
  return [first, first + size - 1n];
}

/** Joins what overlaps or touches. */
export function mergeRanges(ranges: readonly AddressRange[]): readonly AddressRange[] {
  const merged: AddressRange[] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const top = merged.at(-1);
    if (top === undefined || first > top[1] + 1n) merged.push([first, last]);
    else if (last > top[1]) merged[merged.length - 1] = [top[0], last];
  }
  return merged;
}

/** The part of `ranges` outside `holes`. */
export function withoutRanges(
  ranges: readonly AddressRange[],
  holes: readonly AddressRange[],
): readonly AddressRange[] {
  return mergeRanges(holes).reduce<readonly AddressRange[]>(
    (left, [from, to]) =>
      left.flatMap(([first, last]): readonly AddressRange[] => {
        if (to < first || from > last) return [[first, last]];
        const parts: AddressRange[] = [];
        if (from > first) parts.push([first, from - 1n]);
        if (to < last) parts.push([to + 1n, last]);
        return parts;
      }),
    mergeRanges(ranges),
  );
}

export const rangeTexts = (ranges: readonly AddressRange[], family: Family): readonly string[] =>
  ranges.map(([first, last]) =>
    first === last ? addressText(first, family) : `${addressText(first, family)}-${addressText(last, family)}`,
  );

function addressText(value: bigint, family: Family): string {
  if (family === 'ip') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  return Array.from({ length: 8 }, (_, i) => ((value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16)).join(':');
}
