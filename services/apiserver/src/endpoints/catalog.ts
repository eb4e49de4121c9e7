import type { Kinds } from '../kinds/custom-kinds.ts';
import { type ServedKind, servedKinds, storedKind } from './served-kinds.ts';

/** The served kinds: built-in ones, then those of definitions. */
export interface Catalog {
  /** Grows with every change. */
  readonly generation: number;
  groups(): readonly string[];
  hasGroup(group: string): boolean;
  /** The version that is preferred comes first. */
  versionsOf(group: string): readonly string[];
  /** Each group with each of its versions. */
  versionsByGroup(): readonly GroupVersion[];
  kindsOf(group: string, version: string): readonly ServedKind[];
}

export type GroupVersion = Pick<ServedKind, 'group' | 'version'>;

type Groups = ReadonlyMap<string, ReadonlyMap<string, readonly ServedKind[]>>;

/** Composed on first use after a change. */
export function createCatalog(kinds: Kinds): Catalog {
  let known: { readonly generation: number; readonly groups: Groups } | undefined;
  const groups = (): Groups => {
    if (known?.generation !== kinds.generation) known = { generation: kinds.generation, groups: read(kinds) };
    return known.groups;
  };
  const versionsOf = (group: string): readonly string[] => [...(groups().get(group)?.keys() ?? [])];
  return {
    get generation() {
      return kinds.generation;
    },
    groups: () => [...groups().keys()],
    hasGroup: (group) => groups().has(group),
    versionsOf,
    versionsByGroup: () =>
      [...groups().keys()].flatMap((group) => versionsOf(group).map((version) => ({ group, version }))),
    kindsOf: (group, version) => groups().get(group)?.get(version) ?? [],
  };
}

/** For servers without definitions. */
export const builtInCatalog = (): Catalog =>
  createCatalog({ find: () => undefined, anyVersion: () => undefined, definitions: () => [], generation: 0 });

function read(kinds: Kinds): Groups {
  const groups = new Map<string, Map<string, ServedKind[]>>();
  const add = (kind: ServedKind): void => {
    const versions = groups.get(kind.group) ?? new Map<string, ServedKind[]>();
    groups.set(kind.group, versions);
    const ofVersion = versions.get(kind.version) ?? [];
    versions.set(kind.version, ofVersion);
    ofVersion.push(kind);
  };
  servedKinds().forEach(add);
  customKindsOf(kinds).forEach(add);
  return groups;
}

function customKindsOf(kinds: Kinds): readonly ServedKind[] {
  const served = kinds
    .definitions()
    .flatMap(({ versions }) => [...versions.values()])
    .filter(({ custom }) => custom?.served === true);
  return served
    .toSorted(
      (a, b) => compare(a.group, b.group) || compareVersions(a.version, b.version) || compare(a.plural, b.plural),
    )
    .map(storedKind);
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Kubernetes' order: stable, beta, alpha, each from the highest number down; then all other names. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [rankOf(a), rankOf(b)];
  if (first === undefined || second === undefined) {
    return first === second ? compare(a, b) : first === undefined ? 1 : -1;
  }
  for (const [i, rank] of first.entries()) {
    const difference = (second[i] ?? 0) - rank;
    if (difference !== 0) return difference;
  }
  return 0;
}

const STAGES = ['alpha', 'beta', undefined];

function rankOf(version: string): readonly number[] | undefined {
  const found = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/.exec(version);
  return found === null ? undefined : [STAGES.indexOf(found[2]), Number(found[1]), Number(found[3] ?? 0)];
}
