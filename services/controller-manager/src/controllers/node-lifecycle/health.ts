import type { Lease, Node, NodeCondition, Pod, Taint } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { byName, isTerminating, nameOf } from '../../common/meta.ts';
import { isReady, podCondition, withPodCondition } from '../../common/pods.ts';
import { FIRST_HEARING, type Hearing, type HearingLimits, listen, silentNodes } from './heartbeats.ts';
import { desiredTaints, evictionTaint, hasEvictionTaint, isReadyNode, readyCondition, UNREACHABLE } from './taints.ts';
import { evictionIntervalMs, isFullDisruption, type Zone, zoneOf, zonesOf } from './zones.ts';

export interface HealthSnapshot {
  readonly nodes: readonly Node[];
  readonly leaseOf: (node: string) => Lease | undefined;
  readonly podsOn: (node: string) => readonly Pod[];
}

/** What a look hands to the next one. */
export interface HealthMemory {
  readonly hearing: Hearing;
  readonly fullDisruption: boolean;
  /** When the last node of each zone got its NoExecute taint. */
  readonly zoneTaintedAtMs: ReadonlyMap<string, number>;
  /** Nodes whose kubelet said Ready at the last look. */
  readonly wasReady: ReadonlySet<string>;
}

export const FIRST_LOOK: HealthMemory = {
  hearing: FIRST_HEARING,
  fullDisruption: false,
  zoneTaintedAtMs: new Map(),
  wasReady: new Set(),
};

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

export interface HealthDecision {
  readonly memory: HealthMemory;
  readonly actions: readonly HealthAction[];
}

/** One look at all nodes: who is silent, what that makes of conditions, taints and the readiness of pods. */
export function decideHealth(memory: HealthMemory, snapshot: HealthSnapshot, time: HealthTime): HealthDecision {
  const stored = [...snapshot.nodes].sort(byName);
  const hearing = listen(memory.hearing, { ...snapshot, nodes: stored }, time.monotonicMs, time.limits);
  const silent = silentNodes(hearing, stored, time.limits);
  const nodes = stored.map((node) => (silent.has(nameOf(node)) ? withUnknownConditions(node, time.now) : node));
  const zones = zonesOf(nodes, (node) => !isReadyNode(node));
  const fullDisruption = isFullDisruption(zones);
  const tainting = createTainting({ zones, silent, fullDisruption, since: memory.zoneTaintedAtMs, time });
  const writes = nodes.map((node, index) => nodeWrite(stored[index] ?? node, node, tainting, time.now));
  return {
    memory: {
      hearing,
      fullDisruption,
      zoneTaintedAtMs: tainting.taintedAtMs,
      wasReady: new Set(nodes.filter(isReadyNode).map(nameOf)),
    },
    actions: [
      ...writes.flatMap((write) => (write === undefined ? [] : [write])),
      ...nodes.flatMap((node) => podActions(node, snapshot, memory, time.now)),
    ],
  };
}

function nodeWrite(stored: Node, node: Node, tainting: Tainting, now: number): HealthAction | undefined {
  const taints = desiredTaints(node, tainting.evictFor(node), now);
  const conditions = node === stored ? undefined : node.status.conditions;
  return conditions === undefined && taints === undefined
    ? undefined
    : { type: 'write-node', node: stored, conditions, taints };
}

const UNKNOWN_WITH_THE_NODE = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The node as it has to be told when nobody has heard of it: the same object when that is told already. */
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

interface Tainting {
  readonly evictFor: (node: Node) => string | undefined;
  readonly taintedAtMs: ReadonlyMap<string, number>;
}

/** Lets the NoExecute taint reach one node after another per zone, and none at all in full disruption. */
function createTainting(of: {
  readonly zones: ReadonlyMap<string, Zone>;
  readonly silent: ReadonlySet<string>;
  readonly fullDisruption: boolean;
  readonly since: ReadonlyMap<string, number>;
  readonly time: HealthTime;
}): Tainting {
  const taintedAtMs = new Map(of.since);
  const mayTaint = (zone: Zone | undefined): boolean => {
    const interval = zone === undefined ? undefined : evictionIntervalMs(zone);
    const last = taintedAtMs.get(zone?.name ?? '');
    return interval !== undefined && (last === undefined || of.time.monotonicMs - last >= interval);
  };
  const evictFor = (node: Node): string | undefined => {
    const wanted = evictionTaint(node);
    if (wanted === undefined || of.fullDisruption) return undefined;
    if (hasEvictionTaint(node, wanted)) return wanted;
    // Unknown from before our timers started again: it has to be silent for a whole grace first.
    if (wanted === UNREACHABLE && !of.silent.has(nameOf(node))) return undefined;
    const zone = of.zones.get(zoneOf(node));
    if (!mayTaint(zone)) return undefined;
    taintedAtMs.set(zone?.name ?? '', of.time.monotonicMs);
    return wanted;
  };
  return { evictFor, taintedAtMs };
}

/** Pods of a node that stopped being ready serve nobody. A live kubelet is told once, a silent one cannot object. */
function podActions(node: Node, snapshot: HealthSnapshot, memory: HealthMemory, now: number): readonly HealthAction[] {
  const isUnknown = readyCondition(node)?.status === 'Unknown';
  const justLost = memory.wasReady.has(nameOf(node)) && !isReadyNode(node);
  if (!isUnknown && !justLost) return [];
  const marks = snapshot
    .podsOn(nameOf(node))
    .filter((pod) => isReady(pod) && !isTerminating(pod))
    .map((pod): HealthAction => ({ type: 'mark-pod-not-ready', pod: notReady(pod, now) }));
  return justLost ? [{ type: 'tell-not-ready', node }, ...marks] : marks;
}

function notReady(pod: Pod, now: number): Pod {
  const { lastTransitionTime: _old, ...ready } = podCondition(pod, 'Ready') ?? { type: 'Ready' };
  return withPodCondition(pod, { ...ready, status: 'False' }, now);
}
