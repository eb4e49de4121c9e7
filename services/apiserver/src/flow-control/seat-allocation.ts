/** A priority level that asks for seats. */
export interface SeatClaim {
  /** It gets at least so many. */
  readonly lower: number;
  readonly upper: number;
  /** The expected use; at least `lower`. */
  readonly target: number;
}

/** Gives a level without demand a proportion. */
const TARGET_MIN = 0.001;

/** Bisections: the proportion is exact to about one in 10^15. */
const STEPS = 60;

/** What a level gets where one of its target is worth `proportion` seats. */
const givenBy = (proportion: number, { lower, upper, target }: SeatClaim): number =>
  Math.min(upper, Math.max(lower, proportion * Math.max(target, TARGET_MIN)));

/**
 * The proportion in which all seats are divided by the targets of the levels, within their bounds. Where the bounds do not allow the sum, it
 * leads to the bounds that are nearest to it.
 */
export function fairFraction(total: number, claims: readonly SeatClaim[]): number {
  const sum = (proportion: number): number => claims.reduce((all, claim) => all + givenBy(proportion, claim), 0);
  const highest = Math.max(0, ...claims.map(({ upper, target }) => upper / Math.max(target, TARGET_MIN)));
  if (sum(0) >= total) return 0;
  if (sum(highest) <= total) return highest;
  let [low, high] = [0, highest];
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (sum(middle) < total) low = middle;
    else high = middle;
  }
  return high;
}

export const allocateSeats = (fraction: number, claims: readonly SeatClaim[]): readonly number[] =>
  claims.map((claim) => givenBy(fraction, claim));
