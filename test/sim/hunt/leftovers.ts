import {
  CONFIG_MAPS,
  CONTROLLER_REVISIONS,
  DEPLOYMENTS,
  JOBS,
  type Job,
  type KubeObject,
  NAMESPACES,
  PODS,
  REPLICA_SETS,
  SERVICE_ACCOUNTS,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { CommittedState } from '../committed.ts';

const OWNERS = [DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, JOBS];
const OWNED = [PODS, REPLICA_SETS, CONTROLLER_REVISIONS];

/** What should have ended: objects without their owner, Jobs, and namespaces that are being deleted. */
export function whatIsLeft(committed: CommittedState): string | undefined {
  const owners = new Set(
    OWNERS.flatMap((kind) => committed.list<KubeObject>(kind)).map(({ metadata }) => metadata.uid),
  );
  const orphan = OWNED.flatMap((kind) => committed.list<KubeObject>(kind)).find(({ metadata }) => {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    return owner !== undefined && !owners.has(owner.uid);
  });
  if (orphan !== undefined) return `${orphan.kind} ${orphan.metadata.name} stays, and its owner is gone`;
  const mates = new Set(committed.list(CONFIG_MAPS).map(({ metadata }) => metadata.uid));
  const child = [...committed.list(CONFIG_MAPS), ...committed.list(SERVICE_ACCOUNTS)].find(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => !mates.has(uid)),
  );
  if (child !== undefined) return `${child.kind} ${child.metadata.name} stays, and its owner is gone`;
  const jobs = committed.list(JOBS);
  const unfinished = jobs.find((job) => !isOver(job));
  if (unfinished !== undefined) return `Job ${unfinished.metadata.name} does not end`;
  const stale = jobs.find(({ spec }) => spec.ttlSecondsAfterFinished !== undefined);
  if (stale !== undefined) return `Job ${stale.metadata.name} stays after its time to live`;
  const namespace = committed.list(NAMESPACES).find(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return namespace === undefined ? undefined : `namespace ${namespace.metadata.name} is still being deleted`;
}

const isOver = ({ status }: Job): boolean =>
  status.conditions?.some(({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True') ===
  true;
