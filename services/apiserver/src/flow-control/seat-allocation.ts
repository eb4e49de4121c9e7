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

/**
 * Divides all seats among the levels in proportion to their targets, within their bounds. Where the bounds do not allow the sum, all get the
 * bound that is nearest to it.
 */
export function allocateSeats(total: number, claims: readonly SeatClaim[]): readonly number[] {
  const given = (proportion: number): readonly number[] =>
    claims.map(({ lower, upper, target }) =>
      Math.min(upper, Math.max(lower, proportion * Math.max(target, TARGET_MIN))),
    );
  const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);
  const highest = Math.max(0, ...claims.map(({ upper, target }) => upper / Math.max(target, TARGET_MIN)));
  if (sum(given(0)) >= total) return given(0);
  if (sum(given(highest)) <= total) return given(highest);
  let [low, high] = [0, highest];
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (sum(given(middle)) < total) low = middle;
    else high = middle;
  }
  return given(high);
}
