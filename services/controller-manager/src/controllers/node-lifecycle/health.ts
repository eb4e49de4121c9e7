import {
  isNodeReady,
  isPodReady,
  isSelfFenced,
  type Node,
  type NodeCondition,
  type Pod,
  podCondition,
  type Taint,
  UNREACHABLE_TAINT,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { byName, isTerminating, nameOf } from '../../common/meta.ts';
import { withPodCondition } from '../../common/pods.ts';
import { Hearing, type HearingLimits, type LeaseOf } from './heartbeats.ts';
import { desiredTaints, evictionTaint, hasEvictionTaint, readyCondition } from './taints.ts';
import { evictionIntervalMs, type Zone, ZoneCounts } from './zones.ts';

export interface HealthSnapshot {
  readonly leaseOf: LeaseOf;
  readonly podsOn: (node: string) => readonly Pod[];
}

/** This process's memory of the nodes, per node: a change costs the same among ten and among ten thousand. */
export interface HealthMemory {
  readonly hearing: Hearing;
  readonly zones: ZoneCounts;
  /** The time of the last NoExecute taint of a node in each zone. */
  readonly zoneTaintedAtMs: Map<string, number>;
}

export const newHealthMemory = (): HealthMemory => ({
  hearing: new Hearing(),
  zones: new ZoneCounts(),
  zoneTaintedAtMs: new Map(),
});

export type HealthAction =
  | {
      readonly type: 'write-node';
      readonly node: Node;
      /** Absent when the stored conditions are right. */
      readonly conditions: readonly NodeCondition[] | undefined;
      readonly taints: readonly Taint[] | undefined;
    }
  | { readonly type: 'mark-pod-not-ready'; readonly pod: Pod }
  | { readonly type: 'tell-not-ready'; readonly node: Node };

export interface HealthTime {
  readonly monotonicMs: number;
  readonly now: number;
  readonly limits: HearingLimits;
}

/** Evaluates all nodes: finds silent ones and derives conditions, taints and the readiness of pods. */
export function lookAtAll(
  memory: HealthMemory,
  nodes: readonly Node[],
  snapshot: HealthSnapshot,
  time: HealthTime,
): readonly HealthAction[] {
  const { hearing, zones } = memory;
  const stored = [...nodes].sort(byName);
  hearing.listenToAll(stored, snapshot.leaseOf, time.monotonicMs, time.limits);
  zones.keep(new Set(stored.map(nameOf)));
  const wasReady = new Set(stored.map(nameOf).filter((name) => zones.isReady(name)));
  const judged = stored.map((node) => judge(memory, node, time.now));
  for (const node of judged) zones.set(node, isNodeReady(node));
  const writes = judged.map((node, i) => nodeWrite(memory, { stored: stored[i] ?? node, node }, time));
  return [
    ...writes.flatMap((write) => (write === undefined ? [] : [write])),
    ...judged.flatMap((node) => podActions(node, wasReady.has(nameOf(node)), snapshot, time.now)),
  ];
}

/**
 * Evaluates one changed node. Its silence is that of the last evaluation of all nodes, unless it has sent a heartbeat
 * since. Returns `undefined` when only an evaluation of all nodes can decide: this process was stopped or heard no
 * node, or full disruption begins or ends.
 */
export function lookAtOne(
  memory: HealthMemory,
  node: Node,
  snapshot: HealthSnapshot,
  time: HealthTime,
): readonly HealthAction[] | undefined {
  const { hearing, zones } = memory;
  if (!hearing.listenToOne(node, snapshot.leaseOf, time.monotonicMs, time.limits)) return undefined;
  const before = { ready: zones.isReady(nameOf(node)), fullDisruption: zones.isFullDisruption };
  const judged = judge(memory, node, time.now);
  zones.set(judged, isNodeReady(judged));
  if (zones.isFullDisruption !== before.fullDisruption) {
    zones.set(judged, before.ready);
    return undefined;
  }
  const write = nodeWrite(memory, { stored: node, node: judged }, time);
  return [...(write === undefined ? [] : [write]), ...podActions(judged, before.ready, snapshot, time.now)];
}

/** The node is gone. True when that begins or ends a full disruption. */
export function forgetNode({ hearing, zones }: HealthMemory, name: string): boolean {
  const before = zones.isFullDisruption;
  hearing.forget(name);
  zones.delete(name);
  return zones.isFullDisruption !== before;
}

/** A promise that is waited out counts as silence, however short. */
const judge = ({ hearing }: HealthMemory, node: Node, now: number): Node =>
  hearing.isSilent(nameOf(node)) || isSelfFenced(node) ? withUnknownConditions(node, now) : node;

function nodeWrite(
  memory: HealthMemory,
  { stored, node }: { readonly stored: Node; readonly node: Node },
  time: HealthTime,
): HealthAction | undefined {
  const taints = desiredTaints(node, evictFor(memory, node, time), time.now);
  const conditions = node === stored ? undefined : node.status.conditions;
  return conditions === undefined && taints === undefined
    ? undefined
    : { type: 'write-node', node: stored, conditions, taints };
}

const UNKNOWN_WITH_THE_NODE = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** Returns the node with Unknown conditions; the same object when it has them already. */
function withUnknownConditions(node: Node, now: number): Node {
  const conditions = node.status.conditions ?? [];
  const known = conditions.map((old) => (UNKNOWN_WITH_THE_NODE.includes(old.type) ? asUnknown(old, now) : old));
  const missing = UNKNOWN_WITH_THE_NODE.filter((type) => !conditions.some((old) => old.type === type));
  const isTold = missing.length === 0 && known.every((condition, index) => condition === conditions[index]);
  const next = [...known, ...missing.map((type) => neverReported(type, now))];
  return isTold ? node : { ...node, status: { ...node.status, conditions: next } };
}

function asUnknown(old: NodeCondition, now: number): NodeCondition {
  if (old.status === 'Unknown') return old;
  const text = { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
  return { ...old, status: 'Unknown', ...text, lastTransitionTime: formatTime(now) };
}

const neverReported = (type: string, now: number): NodeCondition => ({
  type,
  status: 'Unknown',
  reason: 'NodeStatusNeverUpdated',
  message: 'Kubelet never posted node status.',
  lastTransitionTime: formatTime(now),
});

/**
 * The NoExecute taint that the node may get or keep now. It reaches one node after another per zone, and none at all in full
 * disruption. A node that has one already, for the other reason, gets it at once: without any its evictions would be
 * cancelled.
 */
function evictFor({ hearing, zones, zoneTaintedAtMs }: HealthMemory, node: Node, time: HealthTime): string | undefined {
  const wanted = evictionTaint(node);
  if (wanted === undefined || zones.isFullDisruption) return undefined;
  if (hasEvictionTaint(node)) return wanted;
  // Unknown from before the timers started again: it has to be silent for a whole grace first.
  if (wanted === UNREACHABLE_TAINT && !hearing.isSilent(nameOf(node))) return undefined;
  const zone = zones.of(node);
  if (zone === undefined || !mayTaint(zone, zoneTaintedAtMs.get(zone.name), time.monotonicMs)) return undefined;
  zoneTaintedAtMs.set(zone.name, time.monotonicMs);
  return wanted;
}

function mayTaint(zone: Zone, lastMs: number | undefined, nowMs: number): boolean {
  const interval = evictionIntervalMs(zone);
  return interval !== undefined && (lastMs === undefined || nowMs - lastMs >= interval);
}

/**
 * Pods of a node that is no longer ready do not serve. A live kubelet gets this once; a silent one cannot correct it.
 */
function podActions(node: Node, wasReady: boolean, snapshot: HealthSnapshot, now: number): readonly HealthAction[] {
  const isUnknown = readyCondition(node)?.status === 'Unknown';
  const justLost = wasReady && !isNodeReady(node);
  if (!isUnknown && !justLost) return [];
  const marks = snapshot
    .podsOn(nameOf(node))
    .filter((pod) => isPodReady(pod) && !isTerminating(pod))
    .map((pod): HealthAction => ({ type: 'mark-pod-not-ready', pod: notReady(pod, now) }));
  return justLost ? [{ type: 'tell-not-ready', node }, ...marks] : marks;
}

function notReady(pod: Pod, now: number): Pod {
  const { lastTransitionTime: _old, ...ready } = podCondition(pod, 'Ready') ?? { type: 'Ready' };
  return withPodCondition(pod, { ...ready, status: 'False' }, now);
}
