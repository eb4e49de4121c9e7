import {
  CONTROLLER_REVISIONS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  NAMESPACES,
  PODS,
  REPLICA_SETS,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { CommittedState } from '../committed.ts';

const OWNERS = [DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, JOBS];
const OWNED = [PODS, REPLICA_SETS, CONTROLLER_REVISIONS];

/** What should have gone: objects without their owner, and namespaces that are being deleted. */
export function whatIsLeft(committed: CommittedState): string | undefined {
  const owners = new Set(
    OWNERS.flatMap((kind) => committed.list<KubeObject>(kind)).map(({ metadata }) => metadata.uid),
  );
  const orphan = OWNED.flatMap((kind) => committed.list<KubeObject>(kind)).find(({ metadata }) => {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    return owner !== undefined && !owners.has(owner.uid);
  });
  if (orphan !== undefined) return `${orphan.kind} ${orphan.metadata.name} stays, and its owner is gone`;
  const namespace = committed.list(NAMESPACES).find(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return namespace === undefined ? undefined : `namespace ${namespace.metadata.name} is still being deleted`;
}
