import { randomBytes } from 'node:crypto';

/** For nonces and vectors of ciphers: nobody can foresee them, and no seed repeats them. */
export const secureBytes = (length: number): Buffer => randomBytes(length);
