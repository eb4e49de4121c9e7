import { LEASES, NODES, type Node, PODS, type Pod, podCondition } from '@holdfast/api';
import type { ApiClient, InformerChange, ReconcileResult } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { nameOf } from '../../common/meta.ts';
import { inParallel } from '../../common/writes.ts';
import {
  NODE_MONITOR_PERIOD_MS,
  NODE_MONITOR_STALL_MS,
  NODE_STARTUP_GRACE_MS,
  NODE_WRITE_RETRY_MS,
  WORKERS_PER_CONTROLLER,
} from '../../limits.ts';
import { applyEviction, applyHealth, askOnce } from './apply.ts';
import { decideEvictions, type EvictionTimers } from './evictions.ts';
import {
  forgetNode,
  type HealthAction,
  type HealthMemory,
  type HealthSnapshot,
  type HealthTime,
  lookAtAll,
  lookAtOne,
  newHealthMemory,
} from './health.ts';
import type { PodEviction } from './pod-eviction.ts';
import { noExecuteTaints } from './taints.ts';
import type { ZoneCounts } from './zones.ts';

export interface NodeLifecycleSettings {
  readonly nodeMonitorGraceMs: number;
  /** Evicts pods with this controller's own client. */
  readonly podEviction: (client: ApiClient) => PodEviction;
}

export const nodeLifecycleController = (settings: NodeLifecycleSettings): ControllerDefinition => ({
  name: 'node-lifecycle',
  component: 'node-controller',
  identity: 'manager',
  watches: [NODES, PODS, LEASES],
  create: (context) => createLoops(context, settings),
});

const ALL_NODES = 'all nodes';
const NODE_LEASES = 'kube-node-lease';

/** Shared by the loops. Evictions stop immediately when an evaluation finds that no node sends heartbeats. */
interface Judge {
  readonly memory: HealthMemory;
  /** Evaluates all nodes. */
  readonly lookAtAll: () => Promise<ReconcileResult>;
  /** Evaluates one changed node. */
  readonly lookAtOne: (name: string) => Promise<ReconcileResult>;
}

function createLoops(context: ControllerContext, settings: NodeLifecycleSettings): readonly Loop[] {
  const judge = createJudge(context, settings);
  return [
    createMonitorLoop(judge),
    createChangeLoop(context, judge),
    createEvictionLoop(context, settings, judge.memory.zones),
  ];
}

function createJudge(context: ControllerContext, settings: NodeLifecycleSettings): Judge {
  const limits = {
    graceMs: settings.nodeMonitorGraceMs,
    startupGraceMs: Math.max(NODE_STARTUP_GRACE_MS, settings.nodeMonitorGraceMs),
    stallMs: NODE_MONITOR_STALL_MS,
  };
  const { informers, clock } = context;
  const nodes = informers.of(NODES);
  const memory = newHealthMemory();
  const snapshot: HealthSnapshot = {
    leaseOf: (name) => informers.of(LEASES).get({ namespace: NODE_LEASES, name }),
    podsOn: (name) => informers.of(PODS).byIndex('node', name),
  };
  const time = (): HealthTime => ({ monotonicMs: clock.monotonic(), now: clock.now(), limits });
  const all = async (): Promise<ReconcileResult> => {
    const isWritten = await write(context, lookAtAll(memory, nodes.list(), snapshot, time()));
    return { requeueAfterMs: isWritten ? NODE_MONITOR_PERIOD_MS : NODE_WRITE_RETRY_MS };
  };
  return {
    memory,
    lookAtAll: all,
    lookAtOne: async (name) => {
      const node = nodes.get({ name });
      if (node === undefined) return forgetNode(memory, name) ? all() : {};
      const actions = lookAtOne(memory, node, snapshot, time());
      const isWritten = actions !== undefined && (await write(context, actions));
      if (actions === undefined) await all();
      return isWritten || actions === undefined ? {} : { requeueAfterMs: NODE_WRITE_RETRY_MS };
    },
  };
}

/**
 * Resolves with false when another writer was faster. Other failures are handled by the next evaluation of all nodes.
 */
async function write(context: ControllerContext, actions: readonly HealthAction[]): Promise<boolean> {
  let isWritten = true;
  const failure = await inParallel(actions, async (action) => {
    if (!(await applyHealth(context, action))) isWritten = false;
  });
  if (failure !== undefined) context.log.warn('node health could not be written', { error: failure });
  return isWritten;
}

/** Looks at all nodes periodically. The loop has one worker and one key, so that changes of thousands of nodes do not delay it. */
const createMonitorLoop = ({ lookAtAll: look }: Judge): Loop => ({
  name: 'node-health',
  workers: 1,
  initialKeys: () => [ALL_NODES],
  wake: () => [],
  reconcile: look,
});

const createChangeLoop = ({ informers }: ControllerContext, { lookAtOne: look }: Judge): Loop => ({
  name: 'node-changes',
  workers: WORKERS_PER_CONTROLLER,
  initialKeys: () => [],
  wake: (enqueue) => [
    informers.of(NODES).onChange((change) => {
      if (callsForTaints(change)) enqueue(change.key);
    }),
  ],
  reconcile: look,
});

/** A heartbeat alone changes no taint. */
function callsForTaints({ object, old }: InformerChange<Node>): boolean {
  if (object === undefined || old === undefined) return true;
  const said = (node: Node): unknown => [
    node.spec.unschedulable ?? false,
    node.spec.taints ?? [],
    (node.status.conditions ?? []).map(({ type, status }) => [type, status]),
  ];
  return !isSame(said(object), said(old));
}

function createEvictionLoop(context: ControllerContext, settings: NodeLifecycleSettings, zones: ZoneCounts): Loop {
  const { informers, clock } = context;
  const timersOf = new Map<string, EvictionTimers>();
  const eviction = settings.podEviction(context.client);
  return {
    name: 'taint-eviction',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => informers.of(NODES).list().map(nameOf),
    wake: (enqueue) => [
      informers.of(NODES).onChange((change) => {
        if (callsForTaints(change)) enqueue(change.key);
      }),
      informers.of(PODS).onChange(({ object, old }) => {
        const name = object?.spec.nodeName ?? '';
        if (object === undefined || name === '') return;
        const isLeaving = isTainted(informers.of(NODES).get({ name })) && mayHaveToLeave(object, old);
        if (isLeaving || podCondition(object, 'NodeDown')?.status === 'True') enqueue(name);
      }),
    ],
    reconcile: async (name) => {
      const node = informers.of(NODES).get({ name });
      if (node === undefined) timersOf.delete(name);
      if (node === undefined) return {};
      const fullDisruption = zones.isFullDisruption;
      const pods = informers.of(PODS).byIndex('node', name);
      const timers = timersOf.get(name) ?? new Map<string, number>();
      const time = { monotonicMs: clock.monotonic(), now: clock.now() };
      const decision = decideEvictions({ node, pods, timers, fullDisruption }, time);
      timersOf.set(name, decision.timers);
      const tools = { context, eviction, liveNode: askOnce(context, node), fullDisruption };
      const failure = await inParallel(decision.actions, (action) => applyEviction(tools, action));
      if (failure !== undefined) throw failure;
      const waitMs = decision.actions.some(({ type }) => type === 'evict-pod')
        ? NODE_MONITOR_PERIOD_MS
        : decision.lookAgainMs;
      return waitMs === undefined ? {} : { requeueAfterMs: waitMs };
    },
  };
}

const isTainted = (node: Node | undefined): boolean => node !== undefined && noExecuteTaints(node).length > 0;

/** New on the node, or with other tolerations. */
const mayHaveToLeave = (pod: Pod, old: Pod | undefined): boolean =>
  old?.spec.nodeName !== pod.spec.nodeName || !isSame(old?.spec.tolerations, pod.spec.tolerations);
