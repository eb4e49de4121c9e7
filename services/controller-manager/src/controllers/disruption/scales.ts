import {
  DEPLOYMENTS,
  type KubeObject,
  type OwnerReference,
  type Pod,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceRef,
  type Scale,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ControllerContext, SharedInformers } from '../../common/context.ts';
import { type CustomKindRef, NO_CUSTOM_KINDS } from '../../common/kind-pool.ts';
import { controllerOf, namespaceOf, toTarget, uidOf } from '../../common/meta.ts';
import { isNotFound } from '../../common/writes.ts';
import type { OwnerScale } from './decide.ts';

export const SCALED_KINDS = [REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, REPLICATION_CONTROLLERS] as const;

/** Returns the object whose size counts for the pod: its owner, or the Deployment behind it. */
export function scaleOf(informers: SharedInformers, pod: Pod): OwnerScale | undefined {
  const namespace = namespaceOf(pod);
  const owner = controllerOf(pod);
  if (owner?.kind === 'StatefulSet') return scaleOfOwner(informers, STATEFUL_SETS, { namespace, owner });
  if (owner?.kind === 'ReplicationController') {
    return scaleOfOwner(informers, REPLICATION_CONTROLLERS, { namespace, owner });
  }
  if (owner?.kind !== 'ReplicaSet') return undefined;
  const replicaSet = findOwner(informers, REPLICA_SETS, { namespace, owner });
  const deployment = replicaSet === undefined ? undefined : controllerOf(replicaSet);
  if (deployment?.kind === 'Deployment') {
    return scaleOfOwner(informers, DEPLOYMENTS, { namespace, owner: deployment });
  }
  return scaleOfOwner(informers, REPLICA_SETS, { namespace, owner });
}

/** Returns the sizes of custom resources that own pods, by uid, from their `/scale`. Built-in kinds have caches. */
export async function customScales(
  { client, customKinds = NO_CUSTOM_KINDS }: ControllerContext,
  pods: readonly Pod[],
): Promise<ReadonlyMap<string, OwnerScale>> {
  const owners = new Map<string, Ownership>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (owner !== undefined) owners.set(owner.uid, { namespace: namespaceOf(pod), owner });
  }
  const scales = new Map<string, OwnerScale>();
  for (const [uid, { namespace, owner }] of owners) {
    const kind = customKinds.list().find((each) => isKindOf(each, owner));
    if (kind === undefined) continue;
    const [, version = kind.version] = owner.apiVersion.split('/');
    const { group, plural, namespaced } = kind;
    const scaleRef: ResourceRef<Scale> = { group, version, plural, namespaced, kind: 'Scale' };
    const scale = await unlessNotFound(() => client.get(scaleRef, { namespace, name: owner.name }, 'scale'));
    if (scale !== undefined && uidOf(scale) === uid) scales.set(uid, { uid, replicas: scale.spec.replicas ?? 0 });
  }
  return scales;
}

const isKindOf = ({ group, kind, versions }: CustomKindRef, owner: OwnerReference): boolean =>
  kind === owner.kind && versions.some((version) => owner.apiVersion === `${group}/${version}`);

async function unlessNotFound<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

interface Ownership {
  readonly namespace: string;
  readonly owner: OwnerReference;
}

type Scaled = KubeObject & { readonly spec?: { readonly replicas?: number } };

function scaleOfOwner<T extends Scaled>(
  informers: SharedInformers,
  resource: ResourceRef<T>,
  of: Ownership,
): OwnerScale | undefined {
  const owner = findOwner(informers, resource, of);
  return owner === undefined ? undefined : { uid: uidOf(owner), replicas: owner.spec?.replicas ?? 1 };
}

/** Another object with the owner's name is not the owner. */
function findOwner<T extends KubeObject>(
  informers: SharedInformers,
  resource: ResourceRef<T>,
  { namespace, owner }: Ownership,
): T | undefined {
  const found = informers.of(resource).get(toTarget(namespace, owner.name));
  return found !== undefined && uidOf(found) === owner.uid ? found : undefined;
}
