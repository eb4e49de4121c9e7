/** Randomness as a dependency: real runs use the machine's source, simulations a seeded stream per component. */
export interface Random {
  /** Uniform in [0, 1). */
  float(): number;
  /** Uniform integer in [0, exclusiveMax). */
  int(exclusiveMax: number): number;
  /** `length` random bytes. */
  bytes(length: number): Uint8Array;
}

export function createSystemRandom(): Random {
  return {
    float: () => Math.random(),
    int: (exclusiveMax) => Math.floor(Math.random() * exclusiveMax),
    bytes: pooledBytes(),
  };
}

/** One call to the machine's source costs far more than the bytes of one uid, so the pool takes many at a time. */
const POOL_BYTES = 4_096;

function pooledBytes(): Random['bytes'] {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (length) => {
    if (length > POOL_BYTES) return crypto.getRandomValues(new Uint8Array(length));
    if (used + length > POOL_BYTES) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + length);
    // Erases bytes that the caller now knows.
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
}

/**
 * A deterministic stream (sfc32) for one named purpose. Streams of different names are independent, so an extra draw in
 * one component does not reshuffle the others; that is what makes a failing seed shrinkable.
 */
export function createSeededRandom(seed: number, name: string): Random {
  const next = sfc32(hash(`${seed}/${name}/a`), hash(`${seed}/${name}/b`), hash(`${seed}/${name}/c`));
  for (let warmUp = 0; warmUp < 12; warmUp++) next();
  const float = (): number => next() / 0x1_0000_0000;
  return {
    float,
    int: (exclusiveMax) => Math.floor(float() * exclusiveMax),
    bytes: (length) => Uint8Array.from({ length }, () => next() & 0xff),
  };
}

/** FNV-1a, 32 bit, with a final avalanche so that names differing in one letter do not give related streams. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function sfc32(a: number, b: number, c: number): () => number {
  let counter = 1;
  return () => {
    const result = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  };
}
