import {
  type ControllerRevision,
  isPodFinished,
  isPodReady,
  type PersistentVolumeClaim,
  type Pod,
  type StatefulSet,
} from '@holdfast/api';
import { hasPairs } from '@holdfast/machinery';
import { claim } from '../../common/claim.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { isAvailable, restMs } from '../../common/pods.ts';
import { STATEFUL_SET_BURST_PODS } from '../../limits.ts';
import { type ClaimNamed, claimsToUpdate, hasEndingClaim, missingClaims } from './claims.ts';
import {
  buildClaims,
  buildPod,
  firstOrdinal,
  isWantedOrdinal,
  ordinalOf,
  ordinalsEnd,
  POD_INDEX_LABEL,
  POD_NAME_LABEL,
  podNameOf,
  REVISION_LABEL,
} from './identity.ts';

import { isRevisionOf, outdatedRevisions, type Revision, type Revisions, revisionsOf } from './revisions.ts';

export interface StatefulSetSnapshot {
  readonly set: StatefulSet;
  /** Every pod it controls and every pod of its namespace without a controller. */
  readonly pods: readonly Pod[];
  /** Its ControllerRevisions; undefined when the API does not serve that kind. */
  readonly revisions: readonly ControllerRevision[] | undefined;
  /** Revisions of its namespace without a controller. */
  readonly orphanRevisions?: readonly ControllerRevision[];
  /** Its claims; undefined when the API does not serve that kind. */
  readonly claimNamed?: ClaimNamed | undefined;
  /** False while the cache does not yet show all writes of earlier passes. */
  readonly caughtUp: boolean;
}

export type StatefulSetAction =
  | { readonly type: 'adopt-pod'; readonly pod: Pod }
  | { readonly type: 'release-pod'; readonly pod: Pod }
  | { readonly type: 'adopt-revision'; readonly revision: ControllerRevision }
  | { readonly type: 'store-revision'; readonly revision: ControllerRevision }
  | { readonly type: 'delete-revision'; readonly revision: ControllerRevision }
  | { readonly type: 'create-pod'; readonly pod: Pod; readonly claims: readonly PersistentVolumeClaim[] }
  | { readonly type: 'create-claims'; readonly pod: Pod; readonly claims: readonly PersistentVolumeClaim[] }
  | { readonly type: 'relabel-pod'; readonly pod: Pod }
  | { readonly type: 'update-claim'; readonly claim: PersistentVolumeClaim }
  | { readonly type: 'delete-pod'; readonly pod: Pod; readonly why: 'failed' | 'scale-down' | 'update' };

/** Returns the next actions for the set's pods. A name is filled only when no pod has it, terminating or not. */
export function decide(snapshot: StatefulSetSnapshot, now: number): readonly StatefulSetAction[] {
  const { set } = snapshot;
  const { owned, adopt, release } = claimPods(snapshot);
  const claims: StatefulSetAction[] = [
    ...adopt.map((pod) => ({ type: 'adopt-pod', pod }) as const),
    ...release.map((pod) => ({ type: 'release-pod', pod }) as const),
  ];
  if (isTerminating(set) || claims.length > 0 || !snapshot.caughtUp) return claims;
  // Pods that are adopted keep running when the revision that they were made of is adopted with them.
  const revisionsToAdopt = claim(set, snapshot.orphanRevisions ?? []).adopt.filter((each) => isRevisionOf(set, each));
  if (revisionsToAdopt.length > 0) return revisionsToAdopt.map((revision) => ({ type: 'adopt-revision', revision }));
  const revisions = revisionsOf(set, snapshot.revisions);
  if (revisions.store !== undefined) return [{ type: 'store-revision', revision: revisions.store }];
  const { claimNamed } = snapshot;
  const picture = { set, pods: owned, held: new Set(snapshot.pods.map(nameOf)), claimNamed, revisions, now };
  // Before a pod is ended it has to be settled who its claims go with.
  const claimed = claimActions(picture);
  const actions = claimed.length > 0 ? claimed : podActions(picture);
  return actions.length > 0 ? actions : outdated(snapshot, owned, revisions);
}

/** The pods that are its own or may become so: only those that bear the name of an ordinal. */
export function claimPods(snapshot: Pick<StatefulSetSnapshot, 'set' | 'pods'>): ReturnType<typeof claim<Pod>> {
  const { set } = snapshot;
  const result = claim(set, snapshot.pods);
  return { ...result, adopt: result.adopt.filter((pod) => ordinalOf(set, pod) !== undefined) };
}

interface Picture {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  /** Names that some pod has, its own or not. */
  readonly held: ReadonlySet<string>;
  readonly claimNamed: ClaimNamed | undefined;
  readonly revisions: Revisions;
  readonly now: number;
}

function claimActions({ set, pods, claimNamed }: Picture): readonly StatefulSetAction[] {
  if (claimNamed === undefined) return [];
  return pods
    .filter((pod) => !isTerminating(pod))
    .flatMap((pod) => claimsToUpdate(set, pod, { claimNamed, isCondemned: !isWantedOrdinal(set, ordinalOf(set, pod)) }))
    .map((claim) => ({ type: 'update-claim', claim }));
}

function podActions(picture: Picture): readonly StatefulSetAction[] {
  const filled = fillOrdinals(picture);
  if (filled.isBlocked) return filled.actions;
  const shrunk = scaleDown(picture);
  if (shrunk.isBlocked || filled.actions.length + shrunk.actions.length > 0) {
    return [...filled.actions, ...shrunk.actions];
  }
  return rollUpdate(picture);
}

interface Step {
  readonly actions: readonly StatefulSetAction[];
  /** Ordered management waits for what is under way. */
  readonly isBlocked: boolean;
}

const isOrdered = (set: StatefulSet): boolean => set.spec.podManagementPolicy !== 'Parallel';

const isSettled = ({ set, now }: Picture, pod: Pod): boolean =>
  !isTerminating(pod) && pod.status.phase === 'Running' && isAvailable(pod, set.spec.minReadySeconds ?? 0, now);

const isHealthy = (pod: Pod): boolean => !isTerminating(pod) && pod.status.phase === 'Running' && isPodReady(pod);

/** Creates missing pods, removes failed ones, and restores lost labels and claims. */
const fillOrdinals = (picture: Picture): Step => (isOrdered(picture.set) ? fillInOrder(picture) : fillAtOnce(picture));

/** From the smallest ordinal up, while all earlier pods are healthy. */
function fillInOrder(picture: Picture): Step {
  const { set } = picture;
  const byPodName = new Map(picture.pods.map((pod) => [nameOf(pod), pod]));
  const actions: StatefulSetAction[] = [];
  for (let ordinal = firstOrdinal(set); ordinal < ordinalsEnd(set); ordinal++) {
    const pod = byPodName.get(podNameOf(set, ordinal));
    const action = nextForOrdinal(picture, ordinal, pod);
    if (action !== undefined) actions.push(action);
    const isUnderWay = action?.type === 'create-pod' || action?.type === 'delete-pod' || pod === undefined;
    if (isUnderWay || !isSettled(picture, pod)) return { actions, isBlocked: true };
  }
  return { actions, isBlocked: false };
}

/** The pods that are there, and the smallest ordinals that are missing: one burst of them, the rest when the cache shows these. */
function fillAtOnce(picture: Picture): Step {
  const { set } = picture;
  const filled = new Set<number>();
  const actions: StatefulSetAction[] = [];
  for (const pod of picture.pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal === undefined || !isWantedOrdinal(set, ordinal)) continue;
    filled.add(ordinal);
    const action = nextForOrdinal(picture, ordinal, pod);
    if (action !== undefined) actions.push(action);
  }
  let created = 0;
  for (let next = firstOrdinal(set); next < ordinalsEnd(set) && created < STATEFUL_SET_BURST_PODS; next++) {
    const action = filled.has(next) ? undefined : nextForOrdinal(picture, next, undefined);
    if (action === undefined) continue;
    actions.push(action);
    created++;
  }
  return { actions, isBlocked: false };
}

function nextForOrdinal(picture: Picture, ordinal: number, pod: Pod | undefined): StatefulSetAction | undefined {
  const { set } = picture;
  if (pod === undefined) {
    if (picture.held.has(podNameOf(set, ordinal))) return undefined;
    if (picture.claimNamed !== undefined && hasEndingClaim(set, ordinal, picture.claimNamed)) return undefined;
    const revision = revisionFor(picture, ordinal);
    return { type: 'create-pod', pod: buildPod(set, ordinal, revision), claims: buildClaims(set, ordinal) };
  }
  if (isTerminating(pod)) return undefined;
  if (isPodFinished(pod)) return restMs(pod, picture.now) > 0 ? undefined : { type: 'delete-pod', pod, why: 'failed' };
  const labels = { ...pod.metadata.labels, [POD_NAME_LABEL]: nameOf(pod), [POD_INDEX_LABEL]: String(ordinal) };
  const isLabelled = hasPairs(pod.metadata.labels, labels);
  if (!isLabelled) return { type: 'relabel-pod', pod: { ...pod, metadata: { ...pod.metadata, labels } } };
  const claims = picture.claimNamed === undefined ? [] : missingClaims(set, pod, picture.claimNamed);
  return claims.length === 0 ? undefined : { type: 'create-claims', pod, claims };
}

/** Below the partition, and until the update has reached it, an ordinal comes back in the revision it had. */
function revisionFor({ set, revisions }: Picture, ordinal: number): Revision {
  const isRolling = set.spec.updateStrategy.type !== 'OnDelete';
  const partition = set.spec.updateStrategy.rollingUpdate?.partition ?? 0;
  const first = set.spec.ordinals?.start ?? 0;
  const isBelow = isRolling ? ordinal < first + partition : false;
  return isBelow ? revisions.current : revisions.update;
}

/**
 * From the largest ordinal down. Ordered management ends one pod at a time, and only while all earlier pods are
 * healthy.
 */
function scaleDown(picture: Picture): Step {
  const { set, pods } = picture;
  const condemned = pods
    .filter((pod) => !isWantedOrdinal(set, ordinalOf(set, pod)))
    .sort((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));
  const remove = (pod: Pod): StatefulSetAction => ({ type: 'delete-pod', pod, why: 'scale-down' });
  if (!isOrdered(set)) {
    return { actions: condemned.filter((pod) => !isTerminating(pod)).map(remove), isBlocked: false };
  }
  const [last, ...before] = condemned;
  if (last === undefined) return { actions: [], isBlocked: false };
  const waits = isTerminating(last) || (!isHealthy(last) && before.some((pod) => !isHealthy(pod)));
  return { actions: waits ? [] : [remove(last)], isBlocked: true };
}

/** One pod at a time, largest ordinal first; the next one only after the previous one is healthy again. */
function rollUpdate(picture: Picture): readonly StatefulSetAction[] {
  const { set, revisions } = picture;
  const { type, rollingUpdate } = set.spec.updateStrategy;
  if (type === 'OnDelete') return [];
  const byPodName = new Map(picture.pods.map((pod) => [nameOf(pod), pod]));
  const lowest = firstOrdinal(set) + (rollingUpdate?.partition ?? 0);
  for (let ordinal = ordinalsEnd(set) - 1; ordinal >= lowest; ordinal--) {
    const pod = byPodName.get(podNameOf(set, ordinal));
    if (pod === undefined || isTerminating(pod)) return [];
    if (pod.metadata.labels?.[REVISION_LABEL] !== revisions.update.name)
      return [{ type: 'delete-pod', pod, why: 'update' }];
    if (!isSettled(picture, pod)) return [];
  }
  return [];
}

function outdated(
  snapshot: StatefulSetSnapshot,
  pods: readonly Pod[],
  { current, update }: Revisions,
): readonly StatefulSetAction[] {
  const { set } = snapshot;
  const inUse = new Set([current.name, update.name, ...pods.map((pod) => pod.metadata.labels?.[REVISION_LABEL] ?? '')]);
  if (set.status.currentRevision !== undefined) inUse.add(set.status.currentRevision);
  return outdatedRevisions(set, snapshot.revisions ?? [], inUse).map((revision) => ({
    type: 'delete-revision',
    revision,
  }));
}
