import {
  CONTROLLER_REVISIONS,
  DAEMON_SETS,
  DEPLOYMENTS,
  type KubeObject,
  PODS,
  REPLICA_SETS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api/facts';
import type { Target } from '../port.ts';
import type { Known, Reader } from '../why/reader.ts';
import { ownedBy } from '../why/workload.ts';
import { daemonSetProgress, deploymentProgress, type Progress, statefulSetProgress } from './progress.ts';
import { type RolloutRevision, revisionsOf } from './rollout.ts';

export interface Rollout {
  readonly progress: Progress;
  readonly revisions: readonly RolloutRevision[];
}

type RolloutKind = (target: Target, reader: Reader) => Promise<Known<Rollout>>;

function defineKind<T extends KubeObject>(
  resource: ResourceRef<T>,
  { progress, history }: { readonly progress: (object: T) => Progress; readonly history: 'sets' | 'revisions' },
): RolloutKind {
  return async (target, reader) => {
    const workload = await reader.find(resource, target);
    if (typeof workload === 'string') return workload;
    const { namespace } = target;
    const [owned, pods] = await Promise.all([
      history === 'sets' ? reader.list(REPLICA_SETS, namespace) : reader.list(CONTROLLER_REVISIONS, namespace),
      reader.list(PODS, namespace),
    ]);
    const revisions = revisionsOf({ workload, revisions: owned.filter(ownedBy(workload)), pods });
    return { progress: progress(workload), revisions };
  };
}

/** One line for each kind that rolls out templates. */
const KINDS: ReadonlyMap<string, RolloutKind> = new Map([
  ['Deployment', defineKind(DEPLOYMENTS, { progress: deploymentProgress, history: 'sets' })],
  ['StatefulSet', defineKind(STATEFUL_SETS, { progress: statefulSetProgress, history: 'revisions' })],
  ['DaemonSet', defineKind(DAEMON_SETS, { progress: daemonSetProgress, history: 'revisions' })],
]);

export const hasRollout = (kind: string): boolean => KINDS.has(kind);

/** Resolves with `absent` also for kinds without rollouts. */
export const readRollout = (kind: string, target: Target, reader: Reader): Promise<Known<Rollout>> =>
  KINDS.get(kind)?.(target, reader) ?? Promise.resolve('absent');
