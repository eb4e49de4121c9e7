import { type DaemonSet, isPodFinished, type Node, type Pod } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { type Claim, claim } from '../../common/claim.ts';
import { canonicalJson, safeHash } from '../../common/hash.ts';
import { scaled } from '../../common/int-or-percent.ts';
import {
  compareText,
  controllerReference,
  createdAt,
  isTerminating,
  nameOf,
  namespaceOf,
  uidOf,
} from '../../common/meta.ts';
import { freePodNames, type HeldNames, heldNames } from '../../common/names.ts';
import { generatedNamePrefix, isAvailable, podFromTemplate } from '../../common/pods.ts';
import { FAILED_POD_REST_MS } from '../../limits.ts';
import { daemonTolerations, type Placement, pinnedTo, placementOn, targetNode } from './placement.ts';

export const REVISION_LABEL = 'controller-revision-hash';

export interface DaemonSetSnapshot {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** Every pod it controls and every pod of its namespace without a controller. */
  readonly pods: readonly Pod[];
  /** False while the cache does not yet show all writes of earlier passes. */
  readonly caughtUp: boolean;
  /** Names of this format that foreign or deleted pods have. */
  readonly avoidedNames: ReadonlySet<string>;
}

export type DaemonSetAction =
  | { readonly type: 'adopt-pod'; readonly pod: Pod }
  | { readonly type: 'release-pod'; readonly pod: Pod }
  | { readonly type: 'create-pod'; readonly pod: Pod }
  | { readonly type: 'delete-pod'; readonly pod: Pod; readonly why: 'failed' | 'misplaced' | 'double' | 'update' };

/** The template and the allowed names of new pods. */
interface Room {
  readonly set: DaemonSet;
  /** The revision of its template. */
  readonly revision: string;
  readonly held: HeldNames;
  readonly avoided: ReadonlySet<string>;
  readonly now: number;
}

/** One node as the set uses it. */
export interface DaemonNode extends Placement {
  readonly name: string;
  /** Its living pods, oldest first. */
  readonly living: readonly Pod[];
  readonly ending: readonly Pod[];
}

export function decide(snapshot: DaemonSetSnapshot, now: number): readonly DaemonSetAction[] {
  const { set } = snapshot;
  const { owned, adopt, release } = claimPods(snapshot);
  const claims: DaemonSetAction[] = [
    ...adopt.map((pod) => ({ type: 'adopt-pod', pod }) as const),
    ...release.map((pod) => ({ type: 'release-pod', pod }) as const),
  ];
  if (claims.length > 0 || isTerminating(set) || !snapshot.caughtUp) return claims;
  const nodes = daemonNodes(snapshot, owned);
  const room = { set, revision: revisionOf(set), held: heldNames(snapshot.pods), avoided: snapshot.avoidedNames, now };
  const placed = [...nodes.flatMap((node) => placeOn(room, node)), ...homeless(snapshot, owned)];
  return placed.length > 0 ? placed : rollUpdate(room, nodes);
}

export const claimPods = ({ set, pods }: Pick<DaemonSetSnapshot, 'set' | 'pods'>): Claim<Pod> => claim(set, pods);

export const revisionOf = (set: DaemonSet): string => safeHash(canonicalJson(set.spec.template));

export function daemonNodes(
  { set, nodes }: Pick<DaemonSetSnapshot, 'set' | 'nodes'>,
  pods: readonly Pod[],
): readonly DaemonNode[] {
  const byNode = Map.groupBy(pods, (pod) => targetNode(pod) ?? '');
  const oldestFirst = (a: Pod, b: Pod): number => createdAt(a) - createdAt(b) || compareText(uidOf(a), uidOf(b));
  return nodes.map((node) => {
    const here = byNode.get(nameOf(node)) ?? [];
    const living = here.filter((pod) => !isTerminating(pod)).sort(oldestFirst);
    const placement = placementOn(set.spec.template, node);
    return { name: nameOf(node), ...placement, living, ending: here.filter(isTerminating) };
  });
}

/**
 * Keeps one pod where it belongs and none elsewhere. Replaces a failed pod only after a while, so that a node that
 * rejects it is not flooded.
 */
function placeOn(room: Room, node: DaemonNode): readonly DaemonSetAction[] {
  const failed = node.living.filter(isPodFinished);
  const good = node.living.filter((pod) => !isPodFinished(pod));
  if (!node.mayStay) return node.living.map((pod) => ({ type: 'delete-pod', pod, why: 'misplaced' }));
  const rested = failed.filter((pod) => room.now - createdAt(pod) >= FAILED_POD_REST_MS);
  const removals: DaemonSetAction[] = rested.map((pod) => ({ type: 'delete-pod', pod, why: 'failed' }));
  removals.push(...doubles(room, good).map((pod) => ({ type: 'delete-pod', pod, why: 'double' }) as const));
  const isMissing = node.shouldRun && !node.isFenced && node.living.length === 0 && node.ending.length === 0;
  return isMissing ? [...removals, { type: 'create-pod', pod: buildPod(room, node.name) }] : removals;
}

/**
 * All but the oldest; during a surge all but the oldest of the new and of all older revisions. A surge pod whose
 * template was replaced goes: with it beside the old pod, there would be no place for one of the new template.
 */
function doubles({ set, revision }: Room, good: readonly Pod[]): readonly Pod[] {
  if (surgeOf(set, 1) === 0) return good.slice(1);
  const isNew = (pod: Pod): boolean => revisionLabelOf(pod) === revision;
  return [...good.filter(isNew).slice(1), ...good.filter((pod) => !isNew(pod)).slice(1)];
}

const revisionLabelOf = (pod: Pod): string | undefined => ownValue(pod.metadata.labels, REVISION_LABEL);

/** Pods made for a node that is no more and never bound to one: no kubelet and no collector will end them. */
const homeless = ({ nodes }: DaemonSetSnapshot, pods: readonly Pod[]): readonly DaemonSetAction[] => {
  const known = new Set(nodes.map(nameOf));
  return pods
    .filter((pod) => !isTerminating(pod) && (pod.spec.nodeName ?? '') === '' && !known.has(targetNode(pod) ?? ''))
    .map((pod) => ({ type: 'delete-pod', pod, why: 'misplaced' }));
};

/** The name follows from set, node, template and a number: the same gap is filled under the same name by everybody. */
function buildPod({ set, revision, held, avoided, now }: Room, node: string): Pod {
  const prefix = generatedNamePrefix(nameOf(set));
  const [name = ''] = freePodNames(
    { prefix, seed: `${uidOf(set)}/${node}/${revision}`, held, avoided, now, expected: 1 },
    1,
  );
  const { template } = set.spec;
  const pod = podFromTemplate(template, {
    namespace: namespaceOf(set),
    name,
    generateName: prefix,
    owner: controllerReference(set, { apiVersion: 'apps/v1', kind: 'DaemonSet' }),
  });
  const labels = { ...pod.metadata.labels, [REVISION_LABEL]: revision };
  const spec = { ...pod.spec, affinity: pinnedTo(template, node), tolerations: [...daemonTolerations(template)] };
  return { ...pod, metadata: { ...pod.metadata, labels }, spec };
}

/** Old pods give way within the budget: without surge by ending first, with surge once the new one beside them is available. */
function rollUpdate(room: Room, nodes: readonly DaemonNode[]): readonly DaemonSetAction[] {
  const { set, revision, now } = room;
  if (set.spec.updateStrategy.type === 'OnDelete') return [];
  const wanted = nodes.filter((node) => node.shouldRun);
  const isNew = (pod: Pod): boolean => revisionLabelOf(pod) === revision;
  const isUp = (pod: Pod): boolean => isAvailable(pod, set.spec.minReadySeconds ?? 0, now);
  const surge = surgeOf(set, wanted.length);
  const down = wanted.filter(({ living }) => !living.some(isUp)).length;
  let budget =
    surge > 0
      ? surge - wanted.filter(({ living, ending }) => living.length + ending.length > 1).length
      : unavailableOf(set, wanted.length) - down;
  const actions: DaemonSetAction[] = [];
  for (const { name, living, ending } of wanted) {
    const old = living.find((pod) => !isNew(pod));
    if (old === undefined || ending.length > 0) continue;
    const replaced = living.some((pod) => isNew(pod) && isUp(pod));
    if (!isUp(old) || replaced) actions.push({ type: 'delete-pod', pod: old, why: 'update' });
    else if (surge > 0 && living.length === 1 && budget-- > 0)
      actions.push({ type: 'create-pod', pod: buildPod(room, name) });
    else if (surge === 0 && budget-- > 0) actions.push({ type: 'delete-pod', pod: old, why: 'update' });
  }
  return actions;
}

const surgeOf = (set: DaemonSet, desired: number): number =>
  scaled(set.spec.updateStrategy.rollingUpdate?.maxSurge ?? 0, desired, Math.ceil);

const unavailableOf = (set: DaemonSet, desired: number): number =>
  Math.max(1, scaled(set.spec.updateStrategy.rollingUpdate?.maxUnavailable ?? 1, desired, Math.ceil));
