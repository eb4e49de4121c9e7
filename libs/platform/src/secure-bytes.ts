import { randomBytes } from 'node:crypto';

/** Random bytes for nonces and initialization vectors. They are unpredictable, and no seed repeats them. */
export const secureBytes = (length: number): Buffer => randomBytes(length);
