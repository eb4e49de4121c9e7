import { createHash } from 'node:crypto';
import { allResources, type CustomKind, type KindInfo, type ResourceDefinition } from '@holdfast/api';
import { type ServedSubresource, subresourcesOf } from '../subresources/served-subresources.ts';
import { VIRTUAL_RESOURCES } from '../virtual/registry.ts';

/** One resource in discovery, stored or not. */
export interface ServedKind extends Omit<KindInfo, 'struct' | 'subresources'> {
  readonly subresources: readonly ServedSubresource[];
  /** Under which version it is kept, in the form in which clients compare that; absent when nothing is kept. */
  readonly storageVersionHash?: string;
  /** Present for kinds of definitions. */
  readonly custom?: CustomKind;
}

/** Groups in the order in which Kubernetes lists them; clients that know a kind by its name alone take the first match. */
const GROUP_ORDER = [
  '',
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'flowcontrol.apiserver.k8s.io',
];

/** True for groups of Kubernetes itself. */
export const isBuiltInGroup = (group: string): boolean =>
  allResources().some((each) => each.group === group) || VIRTUAL_RESOURCES.some((each) => each.group === group);

let known: readonly ServedKind[] | undefined;

/** Everything of this build, by group, then by name. What definitions add is in the catalog. */
export const servedKinds = (): readonly ServedKind[] => (known ??= readServedKinds());

function readServedKinds(): readonly ServedKind[] {
  const stored = allResources().map(storedKind);
  const virtual = VIRTUAL_RESOURCES.map(
    ({ group, version, kind, plural, singular, namespaced, shortNames = [], verbs }): ServedKind => ({
      group,
      version,
      kind,
      plural,
      singular,
      namespaced,
      shortNames,
      categories: [],
      verbs: Object.keys(verbs).toSorted(),
      subresources: [],
    }),
  );
  return [...stored, ...virtual].toSorted(
    (a, b) => placeOf(a.group) - placeOf(b.group) || compare(a.group, b.group) || compare(a.plural, b.plural),
  );
}

const versionsOf = (group: string): readonly string[] => [
  ...new Set(servedKinds().flatMap((each) => (each.group === group ? [each.version] : []))),
];

/** Each group of this build with each of its versions. */
export const versionsByGroup = (): readonly Pick<ServedKind, 'group' | 'version'>[] =>
  [...new Set(servedKinds().map(({ group }) => group))].flatMap((group) =>
    versionsOf(group).map((version) => ({ group, version })),
  );

export const kindsOf = (group: string, version: string): readonly ServedKind[] =>
  servedKinds().filter((each) => each.group === group && each.version === version);

/** Only what there is of them. */
export const namesOf = ({ shortNames, categories }: ServedKind): object => ({
  ...(shortNames.length === 0 ? {} : { shortNames }),
  ...(categories.length === 0 ? {} : { categories }),
});

export function storedKind(definition: ResourceDefinition): ServedKind {
  const { group, version, kind, plural, singular, namespaced, shortNames, categories, verbs, answersDeleted, custom } =
    definition;
  return {
    group,
    version,
    kind,
    plural,
    singular,
    namespaced,
    shortNames,
    categories,
    verbs: custom === undefined ? verbs.toSorted() : verbs,
    answersDeleted,
    subresources: subresourcesOf(definition),
    storageVersionHash: hashOf(definition.storedAs ?? { group, version: custom?.storageVersion ?? version, kind }),
    ...(custom === undefined ? {} : { custom }),
  };
}

type Stored = Pick<ResourceDefinition, 'group' | 'version' | 'kind'>;

const hashOf = ({ group, version, kind }: Stored): string =>
  createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, HASH_BYTES).toString('base64');

const HASH_BYTES = 8;

function placeOf(group: string): number {
  const place = GROUP_ORDER.indexOf(group);
  return place < 0 ? GROUP_ORDER.length : place;
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
