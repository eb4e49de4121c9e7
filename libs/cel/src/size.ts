/** Lower and upper bound of a size or a cost. Infinity means unbounded. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

export const UNKNOWN_SIZE: Range = { min: 0, max: Infinity };
export const NOTHING: Range = { min: 0, max: 0 };

export function fixed(size: number): Range {
  return { min: size, max: size };
}

export function add(...ranges: readonly Range[]): Range {
  let min = 0;
  let max = 0;
  for (const range of ranges) {
    min += range.min;
    max += range.max;
  }
  return { min, max };
}

export function union(left: Range, right: Range): Range {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) };
}

export function multiply(left: Range, right: Range): Range {
  return { min: product(left.min, right.min), max: product(left.max, right.max) };
}

/** Rounds up, because costs are integers. */
export function scale(range: Range, factor: number): Range {
  return { min: Math.ceil(product(range.min, factor)), max: Math.ceil(product(range.max, factor)) };
}

function product(left: number, right: number): number {
  return left === 0 || right === 0 ? 0 : left * right;
}
