import type { Random } from './random.ts';

/** Identifiers as a dependency. */
export interface Ids {
  /** RFC 4122 version 4, for `metadata.uid` and write ids. */
  uuid(): string;
  /** `length` characters of the alphabet Kubernetes uses for generated names (no vowels, nothing that looks alike). */
  suffix(length: number): string;
}

const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export function createIds(random: Random): Ids {
  return {
    uuid: () => formatUuid(random.bytes(16)),
    suffix: (length) => Array.from({ length }, () => NAME_ALPHABET.charAt(random.int(NAME_ALPHABET.length))).join(''),
  };
}

function formatUuid(bytes: Uint8Array): string {
  const versioned = bytes.slice();
  versioned[6] = ((versioned[6] ?? 0) & 0x0f) | 0x40;
  versioned[8] = ((versioned[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(versioned, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
