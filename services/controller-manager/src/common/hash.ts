/** The alphabet of generated names: no vowels, nothing that looks alike. */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const HALF_LENGTH = 5;

/** A short name part that depends on `text` only: ten safe characters, 47 bits. */
export function safeHash(text: string): string {
  return `${safeSuffix(`${text}#a`)}${safeSuffix(`${text}#b`)}`;
}

/** Five safe characters that depend on `text` only. */
export function safeSuffix(text: string): string {
  let rest = mix(text);
  let suffix = '';
  for (let i = 0; i < HALF_LENGTH; i++) {
    suffix += SAFE_ALPHABET.charAt(rest % SAFE_ALPHABET.length);
    rest = Math.floor(rest / SAFE_ALPHABET.length);
  }
  return suffix;
}

/** FNV-1a with a final avalanche, 32 bit. Stored names depend on it: it may never change. */
function mix(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** JSON with sorted keys and without undefined members: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/** Compares as if by their canonical texts, without composing these. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isComposite(a) || !isComposite(b))
    return !isComposite(a) && !isComposite(b) && canonicalJson(a) === canonicalJson(b);
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  return !Array.isArray(b) && hasSameMembers(a, b);
}

const isComposite = (value: unknown): value is object => typeof value === 'object' && value !== null;

function hasSameMembers(a: object, b: object): boolean {
  let members = 0;
  for (const [key, value] of Object.entries(a)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(b, key) || Reflect.get(b, key) === undefined || !isSame(value, Reflect.get(b, key)))
      return false;
    members++;
  }
  return members === Object.values(b).filter((value) => value !== undefined).length;
}

/**
 * Copies without members that are 0: on the wire a zero count is an absent field, except a collision count that was
 * written explicitly.
 */
export function withoutZeros<T extends object>(value: T): T {
  const copy = { ...value };
  for (const key of Object.keys(copy)) {
    if (key !== 'collisionCount' && Reflect.get(copy, key) === 0) Reflect.deleteProperty(copy, key);
  }
  return copy;
}
