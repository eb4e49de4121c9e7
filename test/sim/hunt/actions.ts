import {
  DEPLOYMENTS,
  FENCED,
  type KubeObject,
  NODES,
  PODS,
  type Pod,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import { BUS_PARTY } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';
import { appOf } from '../workloads.ts';
import { goodWay, type StoreWay } from './faulty-store.ts';
import type { Living } from './living.ts';
import { APPS, nodeOf, type Step, type StepKind } from './plan.ts';
import { createDeployment, createJob, createOne, createSet, named } from './workloads.ts';

/** The targets of a step. */
export interface Scene {
  readonly cluster: SimCluster;
  readonly living: Living;
  readonly ways: ReadonlyMap<string, StoreWay>;
  readonly poweredOff: Set<string>;
  readonly crashed: Set<string>;
  /** Machines that the fencer has turned off. */
  readonly fenced: Set<string>;
}

type Ask = () => Promise<unknown>;
/** Begins a step; what it returns ends it. */
type Action = (scene: Scene, step: Step) => (() => void) | void;

const FINALIZER = 'hunt/hold';

export const ACTIONS: Readonly<Record<StepKind, Action>> = {
  isolate: ({ cluster: { network } }, { target }) => {
    network.isolate(target);
    return () => network.rejoin(target);
  },
  'cut-to-api': ({ cluster }, { target }) =>
    cut(
      cluster,
      cluster.apiParties.map((api) => [target, api]),
    ),
  'cut-from-api': ({ cluster }, { target }) =>
    cut(
      cluster,
      cluster.apiParties.map((api) => [api, target]),
    ),
  'cut-master': ({ cluster: { network } }, { target }) => {
    network.isolate(target);
    return () => network.rejoin(target);
  },
  'lossy-link': ({ cluster }, { target, value }) => worsen(cluster, target, { loss: value ?? 0 }),
  'slow-link': ({ cluster }, { target, value }) => worsen(cluster, target, { maxLatencyMs: value ?? 0 }),
  'bus-outage': ({ cluster: { network } }) => {
    network.isolate(BUS_PARTY);
    return () => network.rejoin(BUS_PARTY);
  },
  'lossy-bus': ({ cluster: { network } }, { target, value = 0 }) => {
    network.setQuality(BUS_PARTY, target, { loss: value, duplication: value, maxLatencyMs: 1 + value * 5_000 });
    return () => network.setQuality(BUS_PARTY, target, {});
  },
  'store-down': ({ ways }, { target }) => change(ways.get(target), { isDown: true }),
  'store-slow': ({ ways }, { target, value = 0 }) => change(ways.get(target), { latencyMs: value }),
  'store-unknown': ({ ways }, { target, value = 0 }) => change(ways.get(target), { unknown: value }),
  // The store fails over to its replica: it is unreachable, and the outcome of writes in flight is unknown.
  'store-failover': ({ ways }) => {
    const ends = [...ways.values()].map((way) => change(way, { isDown: true }));
    return () => {
      for (const end of ends) end();
    };
  },
  crash: ({ cluster, crashed }, { target }) => {
    cluster.crash(target);
    crashed.add(target);
    return () => {
      if (crashed.delete(target)) cluster.restart(target);
    };
  },
  'kubelet-down': ({ cluster, poweredOff, fenced, crashed }, { target }) => {
    const isOff = (): boolean => poweredOff.has(target) || fenced.has(target);
    if (isOff() || crashed.has(target)) return;
    cluster.killKubelet(target);
    crashed.add(target);
    return () => {
      if (crashed.delete(target) && !isOff()) cluster.restartKubelet(target);
    };
  },
  'power-loss': ({ cluster, poweredOff, fenced }, { target }) => {
    if (poweredOff.has(target) || fenced.has(target)) return;
    poweredOff.add(target);
    cluster.powerOff(target);
    return () => {
      if (poweredOff.delete(target)) cluster.powerOn(target);
    };
  },
  pause: ({ cluster: { kernel } }, { target, for: seconds = 0 }) => kernel.pause(target, seconds * 1000),
  'clock-jump': ({ cluster }, { target, value = 0 }) => cluster.jumpClock(target, value),

  'delete-pod': (scene, step) => onPod(scene, step, (admin, pod) => admin.delete(PODS, named(pod))),
  'delete-again': (scene, step) =>
    onPod(scene, step, async (admin, pod) => {
      await admin.delete(PODS, named(pod));
      await admin.delete(PODS, named(pod), { gracePeriodSeconds: step.value ?? 1 });
    }),
  // It gives up the identity, not the disk: that stays attached until the node lets it go.
  'force-delete': (scene, step) => {
    onPod(scene, step, (admin, pod) => {
      scene.cluster.oracle.release('default', pod);
      return admin.delete(PODS, named(pod), { gracePeriodSeconds: 0 });
    });
  },
  evict: (scene, step) => onPod(scene, step, (admin, pod) => admin.evict(named(pod))),
  // Concurrent, as several drains are.
  'evict-all': (scene, { target }) => {
    for (const pod of podsOf(scene, target)) send(scene.cluster, () => scene.cluster.admin.evict(named(pod)));
  },
  'roll-out': ({ cluster }, { target, at }) => {
    const template = { metadata: { annotations: { round: String(at) } } };
    send(cluster, () => patchApp(cluster, target, { spec: { template } }));
  },
  scale: ({ cluster }, { target, value = 1 }) => {
    const replicas = target === 'disk' ? Math.min(value, 2) : value;
    send(cluster, () => patchApp(cluster, target, { spec: { replicas } }));
  },
  'recreate-pod': ({ cluster }) => {
    const { admin } = cluster;
    send(cluster, () => admin.delete(PODS, named('one')));
    return () => send(cluster, () => createOne(admin));
  },
  'recreate-set': ({ cluster }, { target }) => {
    const { admin } = cluster;
    if (target === 'db')
      send(
        cluster,
        () => admin.delete(STATEFUL_SETS, named('db')),
        () => createSet(admin),
      );
    else
      send(
        cluster,
        () => admin.delete(DEPLOYMENTS, named(target)),
        () => createApp(cluster, target),
      );
  },
  'run-job': ({ cluster }, { at }) => send(cluster, () => createJob(cluster.admin, `job-${Math.round(at * 1000)}`)),
  'add-finalizer': (scene, step) => {
    const { cluster } = scene;
    const pod = findPod(scene, step);
    if (pod === undefined) return;
    const set = (finalizers: readonly string[]) =>
      cluster.admin.patch(PODS, named(pod), { type: 'merge', body: { metadata: { finalizers } } });
    send(cluster, () => set([FINALIZER]));
    return () => send(cluster, () => set([]));
  },
  drain: (scene, { target }) => {
    const { cluster } = scene;
    const set = (unschedulable: boolean) =>
      cluster.admin.patch(NODES, { name: target }, { type: 'merge', body: { spec: { unschedulable } } });
    const pods = cluster.committed.list(PODS).filter(({ spec }) => spec.nodeName === target);
    const evictions = pods.map(
      ({ metadata }) =>
        () =>
          cluster.admin.evict(named(metadata.name ?? '')),
    );
    send(cluster, () => set(true), ...evictions);
    return () => send(cluster, () => set(false));
  },
  'delete-node': ({ cluster, living }, { target }) => {
    for (const pod of living.all()) if (pod.node === target) cluster.oracle.release('default', pod.name);
    living.giveUp(({ node }) => node === target);
    send(cluster, () => cluster.admin.delete(NODES, { name: target }));
  },
};

function cut({ network }: SimCluster, links: readonly (readonly [string, string])[]): () => void {
  for (const [from, to] of links) network.block(from, to);
  return () => {
    for (const [from, to] of links) network.unblock(from, to);
  };
}

/** Between a process and all API servers, in both directions. */
function worsen(
  { network, apiParties }: SimCluster,
  target: string,
  quality: { loss?: number; maxLatencyMs?: number },
) {
  const set = (of: typeof quality): void => {
    for (const api of apiParties) {
      network.setQuality(target, api, of);
      network.setQuality(api, target, of);
    }
  };
  set(quality);
  return () => set({});
}

function change(way: StoreWay | undefined, to: Partial<StoreWay>): () => void {
  if (way === undefined) return () => {};
  Object.assign(way, to);
  const good = goodWay();
  return () => {
    // Steps overlap: each takes back only what it has made worse.
    if (to.isDown !== undefined) way.isDown = good.isDown;
    if (to.latencyMs !== undefined) way.latencyMs = good.latencyMs;
    if (to.unknown !== undefined) way.unknown = good.unknown;
  };
}

/** Users ask one after the other, and take no for an answer. */
function send(cluster: SimCluster, ...asks: readonly Ask[]): void {
  const all = async (): Promise<void> => {
    for (const ask of asks) await ask().catch(() => undefined);
  };
  cluster.background(all());
}

function onPod(scene: Scene, step: Step, ask: (admin: SimCluster['admin'], pod: string) => Promise<unknown>): void {
  const pod = findPod(scene, step);
  if (pod !== undefined) send(scene.cluster, () => ask(scene.cluster.admin, pod));
}

/** One of the intended pods; the time of the step determines which. */
function findPod(scene: Scene, { target, at }: Step): string | undefined {
  const pods = podsOf(scene, target);
  return pods[Math.round(at * 1000) % pods.length];
}

/** The step with its current node; absent while there is none. */
export function meantNow({ cluster }: Scene, step: Step): Step | undefined {
  const app = APPS.find((each) => step.target.endsWith(nodeOf(each)));
  if (app === undefined) return step;
  const node = cluster.committed.list(PODS).find((pod) => appOf(pod) === app && pod.spec.nodeName !== undefined)?.spec;
  return node === undefined ? undefined : { ...step, target: step.target.replace(nodeOf(app), node.nodeName ?? '') };
}

/** The pod of that name, the pods of that application, or those on that node (`@node-1`). */
function podsOf({ cluster }: Scene, target: string): readonly string[] {
  const isMeant = (pod: Pod): boolean =>
    pod.metadata.name === target || appOf(pod) === target || `@${pod.spec.nodeName}` === target;
  return cluster.committed
    .list(PODS)
    .filter((pod) => isMeant(pod) && pod.metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name ?? '');
}

async function patchApp({ admin }: SimCluster, app: string, body: object): Promise<void> {
  const kind: ResourceRef<KubeObject> = app === 'db' ? STATEFUL_SETS : DEPLOYMENTS;
  await admin.patch(kind, named(app), { type: 'merge', body });
}

const createApp = ({ admin }: SimCluster, app: string): Promise<void> =>
  createDeployment(admin, app === 'web' ? 'web' : 'disk');

/** Ends whatever is still disturbed, as an operator would. */
export function heal(scene: Scene): void {
  const { cluster, crashed, poweredOff, fenced } = scene;
  const { network, nodeNames, controlPlane } = cluster;
  for (const way of scene.ways.values()) Object.assign(way, goodWay());
  for (const party of [...nodeNames, ...controlPlane, BUS_PARTY]) network.rejoin(party);
  for (const party of crashed) {
    if (!nodeNames.includes(party)) cluster.restart(party);
    else if (!poweredOff.has(party) && !fenced.has(party)) cluster.restartKubelet(party);
  }
  for (const node of [...poweredOff, ...fenced]) cluster.powerOn(node);
  crashed.clear();
  poweredOff.clear();
  fenced.clear();
}

/** Takes what fences and drains have left off the nodes. */
export function liftEverything({ cluster }: Scene): void {
  for (const name of cluster.nodeNames) send(cluster, () => liftAll(cluster, name));
}

async function liftAll({ admin, committed }: SimCluster, name: string): Promise<void> {
  const node = committed.list(NODES).find(({ metadata }) => metadata.name === name);
  const isFenced = node?.status.conditions?.some(({ type, status }) => type === FENCED && status === 'True') === true;
  const metadata = isFenced ? { annotations: { 'fencing/unfence': 'true' } } : {};
  await admin.patch(NODES, { name }, { type: 'merge', body: { metadata, spec: { unschedulable: false } } });
}
