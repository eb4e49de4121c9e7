import { hasMessage } from './message-table.ts';

/** Kinds in another package than their group. */
const META_KINDS: ReadonlySet<string> = new Set([
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
  'APIVersions',
  'CreateOptions',
  'DeleteOptions',
  'PartialObjectMetadata',
  'PatchOptions',
  'Status',
  'UpdateOptions',
  'WatchEvent',
]);

/** Returns the message name of a kind; `undefined` when it has no protobuf message. */
export function messageName(apiVersion: string, kind: string): string | undefined {
  if (META_KINDS.has(kind)) return `meta.v1.${kind}`;
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  const name = `${group.split('.')[0]}.${version}.${kind}`;
  return hasMessage(name) ? name : undefined;
}
