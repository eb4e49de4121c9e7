import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  ownValue,
  parseQuantity,
  type Quantity,
  setOwn,
  subQuantities,
  ZERO_QUANTITY,
} from '@holdfast/machinery';

/** Quantities by resource name, as objects contain them. */
export type Amounts = Readonly<Record<string, string>>;

/** Adds by name; a name on one side keeps its amount. */
export function addAmounts(a: Amounts, b: Amounts): Record<string, string> {
  return combine(a, b, (x, y) => (x === undefined ? y : y === undefined ? x : addQuantities(x, y)));
}

/** Returns the larger amount of each name. */
export function maxAmounts(a: Amounts, b: Amounts): Record<string, string> {
  return combine(a, b, (x, y) => (x === undefined || (y !== undefined && compareQuantities(x, y) < 0) ? y : x));
}

/** Returns what `a` has more than `b`, never below zero: a smaller object releases nothing at admission. */
export function growthOf(a: Amounts, b: Amounts): Record<string, string> {
  const grown = combine(a, b, (x = ZERO_QUANTITY, y = ZERO_QUANTITY) => {
    const difference = subQuantities(x, y);
    return compareQuantities(difference, ZERO_QUANTITY) < 0 ? ZERO_QUANTITY : difference;
  });
  return Object.fromEntries(Object.entries(grown).filter(([, amount]) => !isZero(amount)));
}

export const withoutZeros = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => !isZero(amount)));

export const maskAmounts = (amounts: Amounts, names: Iterable<string>): Record<string, string> => {
  const wanted = new Set(names);
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => wanted.has(name)));
};

/** Returns the names whose amount exceeds `bounds`, sorted. */
export const namesAbove = (amounts: Amounts, bounds: Amounts): readonly string[] =>
  Object.keys(amounts)
    .filter((name) => {
      const bound = ownValue(bounds, name);
      return bound !== undefined && compareQuantities(quantityOf(amounts, name), parseQuantity(bound)) > 0;
    })
    .sort();

/** `cpu=1,pods=2` */
export const printAmounts = (amounts: Amounts): string =>
  Object.keys(amounts)
    .sort()
    .map((name) => `${name}=${amounts[name]}`)
    .join(',');

const isZero = (amount: string): boolean => compareQuantities(parseQuantity(amount), ZERO_QUANTITY) === 0;

const quantityOf = (amounts: Amounts, name: string): Quantity => parseQuantity(ownValue(amounts, name) ?? '0');

function combine(
  a: Amounts,
  b: Amounts,
  pick: (x: Quantity | undefined, y: Quantity | undefined) => Quantity | undefined,
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const x = !Object.hasOwn(a, name) ? undefined : quantityOf(a, name);
    const y = !Object.hasOwn(b, name) ? undefined : quantityOf(b, name);
    const picked = pick(x, y);
    if (picked !== undefined) setOwn(result, name, formatQuantity(picked));
  }
  return result;
}
