import { NODE_SCORE_MAX } from '../limits.ts';

/** Scales to 0..100 by the highest score; `reverse` makes the lowest the best. */
export function normalizeByHighest(scores: number[], reverse: boolean): void {
  const highest = scores.reduce((most, each) => Math.max(most, each), 0);
  for (const [i, raw] of scores.entries()) {
    const scaled = highest === 0 ? 0 : Math.trunc((NODE_SCORE_MAX * raw) / highest);
    scores[i] = reverse ? NODE_SCORE_MAX - scaled : scaled;
  }
}
