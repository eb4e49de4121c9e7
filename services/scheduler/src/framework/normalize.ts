import { NODE_SCORE_MAX } from '../limits.ts';

/** Scales to 0..100 by the highest score; `reverse` inverts the order. */
export function normalizeByHighest(scores: number[], reverse: boolean): void {
  const highest = scores.reduce((most, each) => Math.max(most, each), 0);
  for (let i = 0; i < scores.length; i++) {
    const scaled = highest === 0 ? 0 : Math.trunc((NODE_SCORE_MAX * (scores[i] ?? 0)) / highest);
    scores[i] = reverse ? NODE_SCORE_MAX - scaled : scaled;
  }
}
