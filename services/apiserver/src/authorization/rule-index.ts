import type { PolicyRule } from '@holdfast/api';

/** Positions of rules, ascending. Equal sets are one array, so that they can be compared by identity. */
export type RuleIds = readonly number[];

/** Counts the work of a comparison; throws when the bound is reached. */
export type Charge = (steps: number) => void;

/** Finds the indexed rules that match one value of a dimension (verbs, groups, resources, names, paths). */
export interface Dimension {
  readonly idsOf: (value: string) => RuleIds;
  /** Rules that match every value. */
  readonly all: RuleIds;
}

export interface RuleIndex {
  readonly verbs: Dimension;
  readonly groups: Dimension;
  readonly resources: Dimension;
  readonly names: Dimension;
  readonly paths: Dimension;
}

/** Reads each rule once: later questions cost a lookup a value, and not a walk over all rules. */
export function indexRules(rules: readonly PolicyRule[], charge: Charge): RuleIndex {
  const shared = createSharedSets(charge);
  const listed = (values: (rule: PolicyRule) => readonly string[] | undefined): Listed => {
    const exact = new Map<string, number[]>();
    rules.forEach((rule, id) => {
      const own = values(rule) ?? [];
      charge(own.length + 1);
      for (const value of own) addId(exact, value, id);
    });
    return { exact, shared };
  };
  return {
    verbs: withWildcard(listed((rule) => rule.verbs)),
    groups: withWildcard(listed((rule) => rule.apiGroups)),
    resources: withSubresources(listed((rule) => rule.resources)),
    names: withoutNames(
      rules,
      listed((rule) => rule.resourceNames),
    ),
    paths: withPrefixes(
      listed((rule) => rule.nonResourceURLs),
      charge,
    ),
  };
}

interface Listed {
  readonly exact: ReadonlyMap<string, RuleIds>;
  readonly shared: SharedSets;
}

function addId(exact: Map<string, number[]>, value: string, id: number): void {
  const ids = exact.get(value);
  if (ids === undefined) exact.set(value, [id]);
  else if (ids.at(-1) !== id) ids.push(id);
}

interface SharedSets {
  /** The one array of the union. */
  readonly union: (...sets: readonly (RuleIds | undefined)[]) => RuleIds;
}

const EMPTY: RuleIds = [];

function createSharedSets(charge: Charge): SharedSets {
  const byText = new Map<string, RuleIds>();
  return {
    union: (...sets) => {
      const present = sets.filter((each): each is RuleIds => each !== undefined && each.length > 0);
      if (present.length === 0) return EMPTY;
      charge(present.reduce((sum, each) => sum + each.length, 0));
      const ids = present.length === 1 ? (present[0] ?? EMPTY) : merged(present);
      const text = ids.join(',');
      const known = byText.get(text);
      if (known !== undefined) return known;
      byText.set(text, ids);
      return ids;
    },
  };
}

const merged = (sets: readonly RuleIds[]): RuleIds => [...new Set(sets.flat())].toSorted((a, b) => a - b);

function withWildcard({ exact, shared }: Listed): Dimension {
  const all = shared.union(exact.get('*'));
  return remembering({ all, idsOf: (value) => (exact.has(value) ? shared.union(exact.get(value), all) : all) });
}

function remembering({ all, idsOf }: Dimension): Dimension {
  const known = new Map<string, RuleIds>();
  return {
    all,
    idsOf: (value) => {
      const ids = known.get(value) ?? idsOf(value);
      known.set(value, ids);
      return ids;
    },
  };
}

/** `pods/log` is matched by itself, by `*` and by any resource with that subresource; a resource without its subresources only by the first two. */
function withSubresources({ exact, shared }: Listed): Dimension {
  const all = shared.union(exact.get('*'));
  const idsOf = (value: string): RuleIds => {
    const slash = value.indexOf('/');
    const ofAny = slash > 0 ? exact.get(`*${value.slice(slash)}`) : undefined;
    const own = exact.get(value);
    return own === undefined && ofAny === undefined ? all : shared.union(own, ofAny, all);
  };
  return remembering({ all, idsOf });
}

/** A rule that names no objects matches all of them. */
function withoutNames(rules: readonly PolicyRule[], { exact, shared }: Listed): Dimension {
  const all = shared.union(rules.flatMap((rule, id) => ((rule.resourceNames ?? []).length === 0 ? [id] : [])));
  return remembering({ all, idsOf: (value) => (exact.has(value) ? shared.union(exact.get(value), all) : all) });
}

/** A path is matched by itself and by each pattern `/prefix*`. Only prefixes of lengths that occur are looked up. */
function withPrefixes({ exact, shared }: Listed, charge: Charge): Dimension {
  const prefixes = new Map<string, RuleIds>();
  for (const [pattern, ids] of exact) if (pattern.endsWith('*')) prefixes.set(pattern.slice(0, -1), ids);
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))].toSorted((a, b) => a - b);
  const idsOf = (path: string): RuleIds => {
    const fitting = lengths.filter((length) => length <= path.length);
    charge(lengths.length + fitting.reduce((sum, length) => sum + length, 0) / CHARACTERS_A_STEP);
    return shared.union(exact.get(path), ...fitting.map((length) => prefixes.get(path.slice(0, length))));
  };
  return remembering({ all: shared.union(prefixes.get('')), idsOf });
}

/** Hashing this many characters costs about as much as one other step. */
const CHARACTERS_A_STEP = 16;
