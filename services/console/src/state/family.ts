import type { Api } from './api.ts';
import { pathOf, type ResourceName } from './routes.ts';

export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly Owner[];
}

export interface Relative {
  readonly resource: ResourceName;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly children: readonly Relative[];
}

const APPS = { group: 'apps', version: 'v1' };
const BATCH = { group: 'batch', version: 'v1' };
const REPLICA_SETS: Child = { ...APPS, plural: 'replicasets', kind: 'ReplicaSet' };
const PODS: Child = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
const JOBS: Child = { ...BATCH, plural: 'jobs', kind: 'Job' };

interface Child extends ResourceName {
  readonly kind: string;
}

/** What objects of a kind own, as our controllers make it. */
const CHILDREN: ReadonlyMap<string, readonly Child[]> = new Map([
  ['Deployment', [REPLICA_SETS]],
  ['ReplicaSet', [PODS]],
  ['StatefulSet', [PODS]],
  ['DaemonSet', [PODS]],
  ['ReplicationController', [PODS]],
  ['Job', [PODS]],
  ['CronJob', [JOBS]],
  ['Service', [{ group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices', kind: 'EndpointSlice' }]],
]);

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json';
/** A tree of more says no more. */
const CHILDREN_SHOWN_MAX = 200;

interface MetadataList {
  readonly items?: readonly { readonly metadata: Metadata }[];
}

/** The objects below one, with theirs. Each kind of a namespace is listed once. */
export async function readChildren(api: Api, kind: string, parent: Metadata): Promise<readonly Relative[]> {
  const lists = new Map<string, Promise<MetadataList>>();
  const list = (child: ResourceName, namespace: string): Promise<MetadataList> => {
    const path = pathOf(child, namespace);
    const known = lists.get(path) ?? api.json<MetadataList>(path, { accept: METADATA_LIST });
    lists.set(path, known);
    return known;
  };
  const below = async (ofKind: string, { uid, namespace = '' }: Metadata): Promise<readonly Relative[]> => {
    const found: Relative[] = [];
    for (const child of CHILDREN.get(ofKind) ?? []) {
      const { items = [] } = await list(child, namespace);
      const own = items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
      for (const { metadata } of own.slice(0, CHILDREN_SHOWN_MAX)) {
        const { name } = metadata;
        found.push({ resource: child, kind: child.kind, name, namespace, children: await below(child.kind, metadata) });
      }
    }
    return found;
  };
  return below(kind, parent);
}

/** `apps/v1` and `ReplicaSet` -> where such objects are. */
export const versionOf = (apiVersion: string): Pick<ResourceName, 'group' | 'version'> => {
  const [group = '', version] = apiVersion.split('/');
  return version === undefined ? { group: '', version: group } : { group, version };
};
