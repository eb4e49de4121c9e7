import {
  DEPLOYMENTS,
  type KubeObject,
  type OwnerReference,
  type Pod,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { SharedInformers } from '../../common/context.ts';
import { controllerOf, namespaceOf, toTarget, uidOf } from '../../common/meta.ts';
import type { OwnerScale } from './decide.ts';

export const SCALED_KINDS = [REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, REPLICATION_CONTROLLERS] as const;

/** Whose size counts for the pod: its owner's, or that of the Deployment behind it. */
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

/** Another object under the owner's name is not the owner. */
function findOwner<T extends KubeObject>(
  informers: SharedInformers,
  resource: ResourceRef<T>,
  { namespace, owner }: Ownership,
): T | undefined {
  const found = informers.of(resource).get(toTarget(namespace, owner.name));
  return found !== undefined && uidOf(found) === owner.uid ? found : undefined;
}
