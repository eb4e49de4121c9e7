import { EXPRESSIONS } from './corpus/expressions.ts';
import type { HostileRequest } from './corpus/hostile-request.ts';
import { KINDS } from './corpus/kinds.ts';
import { METADATA } from './corpus/metadata.ts';
import { PATCHES } from './corpus/patches.ts';
import { PODS } from './corpus/pods.ts';
import { BODIES, READING } from './corpus/reading.ts';
import { REVIEWS } from './corpus/reviews.ts';

export type { HostileRequest, PlainRequest, Sender } from './corpus/hostile-request.ts';

/**
 * Requests that cost more than their size justifies, or once did; each has at most 3 MB. Add every new finding here: the
 * abuse suite sends each to a live server, and `node bench/hostile.ts` prints how long each blocks the server's thread.
 */
export const CORPUS: readonly HostileRequest[] = [
  ...REVIEWS,
  ...METADATA,
  ...PATCHES,
  ...PODS,
  ...KINDS,
  ...EXPRESSIONS,
  ...READING,
  ...BODIES,
];
