import type { Random } from './random.ts';

/** Identifiers as a dependency. */
export interface Ids {
  /** RFC 4122 version 4, for `metadata.uid` and write ids. */
  uuid(): string;
  /**
   * Returns `length` characters of the alphabet that Kubernetes uses for generated names (no vowels, no characters that
   * look alike).
   */
  suffix(length: number): string;
}

const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export function createIds(random: Random): Ids {
  return {
    uuid: () => formatUuid(random.bytes(16)),
    suffix: (length) => {
      let text = '';
      for (let i = 0; i < length; i++) text += NAME_ALPHABET.charAt(random.int(NAME_ALPHABET.length));
      return text;
    },
  };
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function formatUuid(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
    text += HEX[withVersion(bytes[i] ?? 0, i)];
  }
  return text;
}

function withVersion(byte: number, index: number): number {
  if (index === 6) return (byte & 0x0f) | 0x40;
  return index === 8 ? (byte & 0x3f) | 0x80 : byte;
}
