import type { PolicyRule } from '@holdfast/api';
import { type Charge, type Dimension, indexRules, type RuleIds, type RuleIndex } from './rule-index.ts';

/** The comparison of two sets of rules needs more work than is allowed. */
export class RulesTooManifold extends Error {}

export interface CoverageBounds {
  /** Elementary steps of the comparison; one costs up to 75 ns. */
  readonly steps: number;
  /** Maximum number of reported combinations. */
  readonly told: number;
}

const UNBOUNDED: CoverageBounds = { steps: Number.POSITIVE_INFINITY, told: Number.POSITIVE_INFINITY };

/**
 * Returns the permissions of `rules` that `owned` lacks: one rule for each combination of verb, group, resource and
 * name that no owned rule covers. It does not expand all combinations: values of a dimension that the same owned rules
 * cover are compared once.
 */
export function uncovered(
  owned: readonly PolicyRule[],
  rules: readonly PolicyRule[],
  bounds: CoverageBounds = UNBOUNDED,
): readonly PolicyRule[] {
  const charge = createCharge(bounds.steps);
  const index = indexRules(owned, charge);
  const found: Single[] = [];
  for (const [at, rule] of rules.entries()) {
    charge(1);
    for (const single of uncoveredOf(index, rule, charge)) {
      found.push({ ...single, order: [at, ...single.order] });
      if (found.length >= bounds.told) return inOrder(found);
    }
  }
  return inOrder(found);
}

function createCharge(limit: number): Charge {
  let left = limit;
  return (steps) => {
    left -= steps;
    if (left < 0) throw new RulesTooManifold(`comparing the rules needs more than ${limit} steps`);
  };
}

/** One combination, and the positions of its parts in the rule. */
interface Single {
  readonly order: readonly number[];
  readonly rule: PolicyRule;
}

const inOrder = (found: readonly Single[]): readonly PolicyRule[] =>
  found.toSorted((a, b) => compareOrders(a.order, b.order)).map(({ rule }) => rule);

function compareOrders(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((each, i) => each !== b[i]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

const ON_RESOURCES = 0;
const ON_PATHS = 1;

function* uncoveredOf(index: RuleIndex, rule: PolicyRule, charge: Charge): Iterable<Single> {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (apiGroups.length > 0 && resources.length > 0) {
    const classes = [
      classesOf(index.verbs, verbs, charge),
      classesOf(index.groups, apiGroups, charge),
      classesOf(index.resources, resources, charge),
      resourceNames.length === 0 ? [anyName(index)] : classesOf(index.names, resourceNames, charge),
    ];
    for (const [verb, group, resource, name] of combinations(classes, charge)) {
      yield {
        order: [verb?.at ?? 0, ON_RESOURCES, group?.at ?? 0, resource?.at ?? 0, name?.at ?? 0],
        rule: {
          verbs: valuesOf(verb),
          apiGroups: valuesOf(group),
          resources: valuesOf(resource),
          ...(resourceNames.length === 0 ? {} : { resourceNames: valuesOf(name) }),
        },
      };
    }
  }
  if (nonResourceURLs.length === 0) return;
  const classes = [classesOf(index.verbs, verbs, charge), classesOf(index.paths, nonResourceURLs, charge)];
  for (const [verb, path] of combinations(classes, charge)) {
    const order = [verb?.at ?? 0, ON_PATHS, path?.at ?? 0];
    yield { order, rule: { verbs: valuesOf(verb), nonResourceURLs: valuesOf(path) } };
  }
}

interface Value {
  readonly at: number;
  readonly value: string;
}

const valuesOf = (value: Value | undefined): string[] => (value === undefined ? [] : [value.value]);

/** Values that the same owned rules cover. */
interface ValueClass {
  readonly ids: RuleIds;
  readonly values: Value[];
}

const anyName = ({ names }: RuleIndex): ValueClass => ({ ids: names.all, values: [{ at: 0, value: '' }] });

function classesOf(dimension: Dimension, values: readonly string[], charge: Charge): readonly ValueClass[] {
  charge(values.length);
  const classes = new Map<RuleIds, ValueClass>();
  for (const [at, value] of values.entries()) {
    const ids = dimension.idsOf(value);
    const known = classes.get(ids) ?? { ids, values: [] };
    classes.set(ids, known);
    known.values.push({ at, value });
  }
  return [...classes.values()];
}

/** The combinations of one value of each dimension that no owned rule covers; lazily, as there may be very many. */
function* combinations(classes: readonly (readonly ValueClass[])[], charge: Charge): Iterable<readonly Value[]> {
  // Owned rules that cover all values of this dimension and of those behind it: with one of them nothing is left to compare.
  const covering: (RuleIds | undefined)[] = [undefined];
  for (const each of classes.toReversed()) covering.unshift(intersection([covering[0], ...each.map(idsOf)], charge));
  for (const box of uncoveredBoxes({ classes, covering, charge }, [], undefined)) yield* product(box, 0);
}

const idsOf = ({ ids }: ValueClass): RuleIds => ids;

interface Search {
  readonly classes: readonly (readonly ValueClass[])[];
  readonly covering: readonly (RuleIds | undefined)[];
  readonly charge: Charge;
}

type Box = readonly (readonly ValueClass[])[];

/** `ids` are the owned rules that cover the chosen classes; `undefined` means all. */
function* uncoveredBoxes(search: Search, chosen: Box, ids: RuleIds | undefined): Iterable<Box> {
  const { classes, covering, charge } = search;
  const depth = chosen.length;
  for (const each of classes[depth] ?? []) {
    const both = intersection([ids, each.ids], charge);
    const next: Box = [...chosen, [each]];
    if (both?.length === 0) yield [...next, ...classes.slice(depth + 1)];
    else if (depth + 1 < classes.length && intersection([both, covering[depth + 1]], charge)?.length === 0)
      yield* uncoveredBoxes(search, next, both);
  }
}

function* product(box: Box, depth: number): Iterable<readonly Value[]> {
  if (depth === box.length) {
    yield [];
    return;
  }
  for (const { values } of box[depth] ?? []) {
    for (const value of values) for (const rest of product(box, depth + 1)) yield [value, ...rest];
  }
}

/** Intersects ascending sets; `undefined` means all. */
function intersection(sets: readonly (RuleIds | undefined)[], charge: Charge): RuleIds | undefined {
  let common: RuleIds | undefined;
  for (const set of new Set(sets)) {
    if (set === undefined) continue;
    common = common === undefined ? set : inBoth(common, set, charge);
    if (common.length === 0) return common;
  }
  return common;
}

function inBoth(a: RuleIds, b: RuleIds, charge: Charge): RuleIds {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  const found: number[] = [];
  let from = 0;
  for (const id of few) {
    from = positionOf(id, many, from, charge);
    if (many[from] === id) found.push(id);
  }
  return found;
}

/** Returns the position of `id` after `from`: steps double, so that near and far ones are found quickly. */
function positionOf(id: number, ids: RuleIds, ...[from, charge]: readonly [number, Charge]): number {
  let step = 1;
  while ((ids[from + step] ?? id) < id) step *= 2;
  let low = from + Math.floor(step / 2);
  let high = Math.min(from + step, ids.length);
  charge(2 + 2 * Math.log2(step));
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ids[middle] ?? id) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
