import { REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR } from './limits.ts';
import type { CallEstimate, Overload, SizedArgument } from './overload.ts';
import { add, fixed, multiply, type Range, scale, UNKNOWN_SIZE } from './size.ts';
import { sizeOf } from './values.ts';

/**
 * Cost functions that several functions share. Each is a pair: the cost at run time and the estimate from declared
 * sizes.
 */
export type Costs = Pick<Overload, 'cost' | 'estimate'>;

const sizeAt = (args: readonly SizedArgument[], index: number): Range => args[index]?.size ?? UNKNOWN_SIZE;
const traversal = (size: number, factor = STRING_TRAVERSAL_FACTOR): number => Math.ceil(size * factor);

/** The function reads its argument once. */
export function traverses(index: number, times = 1): Costs {
  const factor = STRING_TRAVERSAL_FACTOR * times;
  return {
    cost: (args) => traversal(sizeOf(args[index] ?? null), factor),
    estimate: (args) => ({ cost: scale(sizeAt(args, index), factor) }),
  };
}

/** As `traverses`; the result is as large as the target. */
export function traversesTarget(times = 1): Costs {
  const { cost, estimate } = traverses(0, times);
  return {
    ...(cost === undefined ? {} : { cost }),
    estimate: (args) => ({ ...(estimate?.(args) as CallEstimate), resultSize: sizeAt(args, 0) }),
  };
}

export const COMPARES: Costs = {
  cost: (args) => traversal(Math.min(sizeOf(args[0] ?? null), sizeOf(args[1] ?? null))),
  estimate: (args) => {
    const max = Math.min(sizeAt(args, 0).max, sizeAt(args, 1).max);
    return { cost: scale({ min: max > 0 ? 1 : 0, max }, STRING_TRAVERSAL_FACTOR) };
  },
};

export const JOINS_TEXT: Costs = {
  cost: (args) => traversal(sizeOf(args[0] ?? null) + sizeOf(args[1] ?? null)),
  estimate: (args) => {
    const resultSize = add(sizeAt(args, 0), sizeAt(args, 1));
    return { cost: scale(resultSize, STRING_TRAVERSAL_FACTOR), resultSize };
  },
};

export const JOINS_LISTS: Costs = {
  estimate: (args) => ({ cost: fixed(1), resultSize: add(sizeAt(args, 0), sizeAt(args, 1)) }),
};

/** `x in list` examines each element. */
export const SEARCHES_LIST: Costs = {
  cost: (args) => sizeOf(args[1] ?? null),
  estimate: (args) => ({ cost: sizeAt(args, 1) }),
};

export const SEARCHES_TEXT: Costs = {
  cost: (args) => traversal(sizeOf(args[0] ?? null)) * traversal(sizeOf(args[1] ?? null)),
  estimate: (args) => ({
    cost: multiply(scale(sizeAt(args, 0), STRING_TRAVERSAL_FACTOR), scale(sizeAt(args, 1), STRING_TRAVERSAL_FACTOR)),
  }),
};

/** The cost of a match is the length of the pattern times the length of the text. */
export const MATCHES: Costs = {
  cost: (args) => traversal(1 + sizeOf(args[0] ?? null)) * Math.ceil(sizeOf(args[1] ?? null) * REGEX_LENGTH_FACTOR),
  estimate: (args) => ({
    cost: multiply(
      scale(add(sizeAt(args, 0), fixed(1)), STRING_TRAVERSAL_FACTOR),
      scale(sizeAt(args, 1), REGEX_LENGTH_FACTOR),
    ),
  }),
};

/** As MATCHES; in the worst case each character is a result. */
export const FINDS: Costs = {
  ...MATCHES,
  estimate: (args) => ({
    ...(MATCHES.estimate?.(args) as CallEstimate),
    resultSize: { min: 0, max: sizeAt(args, 0).max },
  }),
};

/** One step per element; strings compare by length. */
export const VISITS_ELEMENTS: Costs = {
  cost: (args) => sizeOf(args[0] ?? null),
  estimate: (args) => {
    const [target] = args;
    if (target?.type.kind !== 'list') return { cost: scale(sizeAt(args, 0), STRING_TRAVERSAL_FACTOR) };
    const element = target.type.element.kind;
    const extra =
      element === 'string' || element === 'bytes'
        ? scale(target.elementSize ?? UNKNOWN_SIZE, STRING_TRAVERSAL_FACTOR)
        : fixed(0);
    return { cost: multiply(target.size, add(fixed(1), extra)) };
  },
};

export function constantCost(cost: number): Costs {
  return { cost: () => cost, estimate: () => ({ cost: fixed(cost) }) };
}
