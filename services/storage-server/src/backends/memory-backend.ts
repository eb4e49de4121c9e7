import type { VolumeBackend, VolumeData } from './port.ts';

interface Kept {
  token: number;
  bytes: Buffer;
}

/** For tests: its volumes live as long as the map that it is given. */
export function createMemoryBackend(volumes: Map<string, Kept> = new Map()): VolumeBackend {
  const keptOf = (volume: string): Kept => {
    const kept = volumes.get(volume) ?? { token: 0, bytes: Buffer.alloc(0) };
    volumes.set(volume, kept);
    return kept;
  };
  return {
    count: () => volumes.size,
    exists: (volume) => volumes.has(volume),
    open: async (volume) => ({ token: keptOf(volume).token, data: dataOf(keptOf(volume)) }),
    saveToken: async (volume, token) => {
      const kept = keptOf(volume);
      kept.token = Math.max(kept.token, token);
    },
    close: async () => {},
  };
}

const dataOf = (kept: Kept): VolumeData => ({
  read: async (offset, length) => {
    const bytes = Buffer.alloc(length);
    bytes.set(kept.bytes.subarray(offset, offset + length));
    return bytes;
  },
  write: async (offset, bytes) => {
    const grown = Buffer.alloc(Math.max(kept.bytes.length, offset + bytes.length));
    kept.bytes.copy(grown);
    grown.set(bytes, offset);
    kept.bytes = grown;
  },
  flush: async () => {},
});
