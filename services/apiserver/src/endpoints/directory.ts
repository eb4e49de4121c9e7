import { type ApiPriority, REGISTRATION_GROUP } from '@holdfast/api';
import type { Aggregation } from '../aggregation/aggregation.ts';
import type { RemoteVersion } from '../aggregation/remote-documents.ts';
import { type Catalog, compareVersions, type GroupVersion } from './catalog.ts';

/** The kinds in discovery: those of this server and of aggregated ones, in the order of their registrations. */
export interface Directory extends Catalog {
  /** Present: another server serves the version, and `kindsOf` knows nothing of it. */
  remoteVersion(group: string, version: string): RemoteVersion | undefined;
}

interface Entry extends GroupVersion {
  readonly priority: ApiPriority;
}

type Sorted = ReadonlyMap<string, readonly Entry[]>;

/** Composed on first use after a change. */
export function createDirectory(
  catalog: Catalog,
  { apis, versionOf, documentsGeneration }: DirectorySource,
): Directory {
  let known: { readonly generation: number; readonly groups: Sorted } | undefined;
  const generation = (): number => catalog.generation + apis.generation + documentsGeneration();
  const groups = (): Sorted => {
    const now = generation();
    if (known?.generation !== now) known = { generation: now, groups: sorted(entriesOf(catalog, apis)) };
    return known.groups;
  };
  const versionsOf = (group: string): readonly string[] => (groups().get(group) ?? []).map(({ version }) => version);
  return {
    get generation() {
      return generation();
    },
    groups: () => [...groups().keys()],
    hasGroup: (group) => groups().has(group),
    versionsOf,
    versionsByGroup: () => [...groups().values()].flat().map(({ group, version }) => ({ group, version })),
    kindsOf: (group, version) => (apis.remote(group, version) === undefined ? catalog.kindsOf(group, version) : []),
    remoteVersion: (group, version) => {
      const api = apis.remote(group, version);
      return api === undefined ? undefined : versionOf(api);
    },
  };
}

export type DirectorySource = Pick<Aggregation, 'apis' | 'versionOf' | 'documentsGeneration'>;

function entriesOf(catalog: Catalog, apis: DirectorySource['apis']): readonly Entry[] {
  const all = new Map<string, GroupVersion>();
  for (const { group, version } of [...catalog.versionsByGroup(), ...apis.remotes()]) {
    all.set(`${group}/${version}`, { group, version });
  }
  return Array.from(all.values(), ({ group, version }) => {
    const isCustom = catalog.kindsOf(group, version).some(({ custom }) => custom !== undefined);
    return { group, version, priority: apis.priorityOf(group, version, isCustom) };
  });
}

/** A group has the priority of its highest version; names break ties. */
function sorted(entries: readonly Entry[]): Sorted {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries.toSorted(byPlaceOfGroup)) {
    const known = groups.get(entry.group);
    if (known === undefined) groups.set(entry.group, [entry]);
    else known.push(entry);
  }
  for (const versions of groups.values()) versions.sort(byPlaceOfVersion);
  return groups;
}

function byPlaceOfGroup(a: Entry, b: Entry): number {
  const isFirst = Number(b.group === REGISTRATION_GROUP) - Number(a.group === REGISTRATION_GROUP);
  if (isFirst !== 0) return isFirst;
  return b.priority.group - a.priority.group || compare(`${a.version}.${a.group}`, `${b.version}.${b.group}`);
}

const byPlaceOfVersion = (a: Entry, b: Entry): number =>
  b.priority.version - a.priority.version || compareVersions(a.version, b.version);

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
