import {
  type Deployment,
  type DeploymentStatus,
  isPodFinished,
  type Pod,
  type ReplicaSet,
  selectorOf,
} from '@holdfast/api';
import { claim } from '../../common/claim.ts';
import { isSame, withoutZeros } from '../../common/hash.ts';
import { generationOf, isTerminating } from '../../common/meta.ts';
import { desiredReplicas, isRollingUpdate } from './bounds.ts';
import { asIs, changedSet, isSameSet, type PlannedSet, sizeOf, totalReplicas } from './plan.ts';
import {
  buildReplicaSet,
  byRevision,
  findNewReplicaSet,
  newSetAnnotations,
  nextRevision,
  REVISION,
} from './revision.ts';
import { newSetSize, resized, rollForward } from './rolling.ts';
import { isScalingEvent, rescale } from './scaling.ts';
import { nextJudgementMs, nextStatus } from './status.ts';

export interface DeploymentSnapshot {
  readonly deployment: Deployment;
  /** Every ReplicaSet it controls and every one of its namespace without a controller. */
  readonly replicaSets: readonly ReplicaSet[];
  /** Pods of one of its ReplicaSets. */
  readonly podsOf: (replicaSet: ReplicaSet) => readonly Pod[];
}

export type DeploymentAction =
  | { readonly type: 'adopt-set'; readonly set: ReplicaSet }
  | { readonly type: 'release-set'; readonly set: ReplicaSet }
  | { readonly type: 'create-set'; readonly set: ReplicaSet }
  | { readonly type: 'update-set'; readonly set: ReplicaSet; readonly from: number }
  | { readonly type: 'delete-set'; readonly set: ReplicaSet }
  | { readonly type: 'set-revision'; readonly revision: string };

export interface DeploymentDecision {
  readonly actions: readonly DeploymentAction[];
  /** Absent when the stored status is right already. */
  readonly status: DeploymentStatus | undefined;
  readonly lookAgainMs: number | undefined;
}

const NOTHING: DeploymentDecision = { actions: [], status: undefined, lookAgainMs: undefined };

export function decide(snapshot: DeploymentSnapshot, now: number): DeploymentDecision {
  const { deployment } = snapshot;
  // Kubernetes refuses to work with a selector that would claim every set.
  if (selectorOf(deployment.spec.selector).empty) return NOTHING;
  const { owned, adopt, release } = claim(deployment, snapshot.replicaSets);
  if (adopt.length + release.length > 0) return { ...NOTHING, actions: claimActions(adopt, release) };
  const newSet = findNewReplicaSet(deployment, owned);
  const plan = isTerminating(deployment)
    ? { ...PLAN_NOTHING, sets: owned.map(asIs) }
    : planSets(snapshot, owned, newSet);
  const status = nextStatus({ ...plan, deployment, newSet, creates: plan.create?.metadata.name }, now);
  return {
    actions: [...setActions(plan), ...revisionAction(deployment, plan, newSet), ...outdated(deployment, plan, newSet)],
    status: isSame(withoutZeros(deployment.status), status) ? undefined : status,
    lookAgainMs: nextJudgementMs(deployment, status, now),
  };
}

interface Plan {
  readonly sets: readonly PlannedSet[];
  readonly create: ReplicaSet | undefined;
  readonly judgeProgress: boolean;
}

const PLAN_NOTHING: Plan = { sets: [], create: undefined, judgeProgress: false };

function planSets(snapshot: DeploymentSnapshot, owned: readonly ReplicaSet[], newSet: ReplicaSet | undefined): Plan {
  const { deployment } = snapshot;
  const revision = nextRevision(owned.filter((set) => set !== newSet));
  const sets = owned.map((set) => (set === newSet ? inStep(deployment, set, revision) : asIs(set)));
  const isPaused = deployment.spec.paused === true;
  if (isScalingEvent(deployment, sets) || (isPaused && sets.filter(({ replicas }) => replicas > 0).length <= 1)) {
    return { ...PLAN_NOTHING, sets: rescale(deployment, sets, newSet) };
  }
  if (isPaused) return { ...PLAN_NOTHING, sets };
  const planned = sets.find((one) => isSameSet(one, newSet));
  if (!isRollingUpdate(deployment)) return recreate(snapshot, sets, { planned, revision });
  if (planned !== undefined)
    return { sets: rollForward(deployment, sets, planned), create: undefined, judgeProgress: true };
  const create = buildReplicaSet(deployment, revision, newSetSize(deployment, 0, totalReplicas(sets)));
  return { sets, create, judgeProgress: true };
}

const inStep = (deployment: Deployment, set: ReplicaSet, revision: bigint): PlannedSet => ({
  ...asIs(set),
  annotations: newSetAnnotations(deployment, set, revision),
  minReadySeconds: deployment.spec.minReadySeconds,
});

/** Creates no pod of the new template before the last one of an old template has ended. */
function recreate(
  snapshot: DeploymentSnapshot,
  sets: readonly PlannedSet[],
  of: { readonly planned: PlannedSet | undefined; readonly revision: bigint },
): Plan {
  const { deployment } = snapshot;
  const isOld = (one: PlannedSet): boolean => one !== of.planned;
  if (sets.some((one) => isOld(one) && one.replicas > 0)) {
    const emptied = sets.map((one) => (isOld(one) && one.replicas > 0 ? resized(deployment, one, 0) : one));
    return { sets: emptied, create: undefined, judgeProgress: true };
  }
  const stillRunning = sets.some((one) => isOld(one) && snapshot.podsOf(one.set).some((pod) => !isPodFinished(pod)));
  if (stillRunning) return { sets, create: undefined, judgeProgress: true };
  const desired = desiredReplicas(deployment);
  if (of.planned === undefined) {
    return { sets, create: buildReplicaSet(deployment, of.revision, desired), judgeProgress: true };
  }
  const grown = sets.map((one) => (isOld(one) || one.replicas === desired ? one : resized(deployment, one, desired)));
  return { sets: grown, create: undefined, judgeProgress: true };
}

const claimActions = (adopt: readonly ReplicaSet[], release: readonly ReplicaSet[]): readonly DeploymentAction[] => [
  ...adopt.map((set) => ({ type: 'adopt-set', set }) as const),
  ...release.map((set) => ({ type: 'release-set', set }) as const),
];

function setActions(plan: Plan): readonly DeploymentAction[] {
  const updates = plan.sets.flatMap((planned): DeploymentAction[] => {
    const set = changedSet(planned);
    return set === undefined ? [] : [{ type: 'update-set', set, from: sizeOf(planned.set) }];
  });
  return plan.create === undefined ? updates : [...updates, { type: 'create-set', set: plan.create }];
}

/** The Deployment shows the revision of the set it rolls out. */
function revisionAction(
  deployment: Deployment,
  plan: Plan,
  newSet: ReplicaSet | undefined,
): readonly DeploymentAction[] {
  const annotations =
    plan.create?.metadata.annotations ?? plan.sets.find((one) => isSameSet(one, newSet))?.annotations ?? {};
  const revision = annotations[REVISION];
  if (revision === undefined || deployment.metadata.annotations?.[REVISION] === revision) return [];
  return [{ type: 'set-revision', revision }];
}

/** Empty sets beyond the history limit, oldest revision first, once the rollout is done. */
function outdated(deployment: Deployment, plan: Plan, newSet: ReplicaSet | undefined): readonly DeploymentAction[] {
  const limit = deployment.spec.revisionHistoryLimit;
  if (limit === undefined || isTerminating(deployment) || !isRolledOut(deployment, plan, newSet)) return [];
  const empty = plan.sets
    .filter((one) => !isSameSet(one, newSet) && one.replicas === 0)
    .map(({ set }) => set)
    .filter((set) => set.status.replicas === 0 && sizeOf(set) === 0 && !isTerminating(set))
    .filter((set) => (set.status.observedGeneration ?? 0) >= generationOf(set));
  return empty
    .sort(byRevision)
    .slice(0, Math.max(0, empty.length - limit))
    .map((set) => ({ type: 'delete-set', set }));
}

function isRolledOut(deployment: Deployment, plan: Plan, newSet: ReplicaSet | undefined): boolean {
  const desired = desiredReplicas(deployment);
  const status = newSet?.status;
  return (
    plan.create === undefined &&
    status !== undefined &&
    status.replicas === desired &&
    (status.availableReplicas ?? 0) === desired &&
    totalReplicas(plan.sets) === desired
  );
}
