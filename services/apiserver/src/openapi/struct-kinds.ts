import { KINDS } from '@holdfast/api';
import { versionsByGroup } from '../endpoints/served-kinds.ts';
import type { PublishedKind } from './schemas.ts';

/** Returns the kinds of a struct, as a response or as a field. */
export function kindsOfStruct(struct: string): readonly PublishedKind[] {
  const kind = struct.slice(struct.lastIndexOf('.') + 1);
  if (OF_ALL_GROUPS.has(struct)) {
    const versions = versionsByGroup().map(({ group, version }) => ({ group, kind, version }));
    return versions.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  }
  if (OF_CORE.has(struct)) return [{ group: '', kind, version: 'v1' }];
  return KINDS.flatMap((each) =>
    each.struct === struct ? [{ group: each.group, kind: each.kind, version: each.version }] : [],
  );
}

const placeOf = ({ group, version }: PublishedKind): string => `${group}/${version}`;

const OF_ALL_GROUPS: ReadonlySet<string> = new Set(['meta.v1.DeleteOptions', 'meta.v1.WatchEvent']);
const OF_CORE: ReadonlySet<string> = new Set([
  'meta.v1.APIGroup',
  'meta.v1.APIGroupList',
  'meta.v1.APIResourceList',
  'meta.v1.APIVersions',
  'meta.v1.Status',
]);
