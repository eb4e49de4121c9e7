import {
  DEPLOYMENTS,
  type KubeObject,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { invariant } from '@holdfast/platform';
import type { StepKind } from '../../sim/hunt/kinds.ts';
import type { Step } from '../../sim/hunt/plan.ts';
import { addressesOf, docker, inNetworkOf, NodeFaults } from '../losses/faults.ts';
import type { LossKind } from '../losses/plan.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { createJob, createOne, named } from './workloads.ts';

/** Ends what a step has begun. */
export type End = () => Promise<unknown>;
type Begin = (cluster: ComposeCluster, step: Step) => Promise<End | void>;

/** Where a container form does it; `CONTAINER_REFUSALS` says why for the others. */
const ACTIONS: Readonly<Partial<Record<StepKind, Begin>>> = {
  isolate: (cluster, step) => loseNode(cluster, step, 'isolate'),
  'cut-to-api': (cluster, step) => loseNode(cluster, step, 'cut-to-api'),
  'cut-from-api': (cluster, step) => loseNode(cluster, step, 'cut-from-api'),
  'power-loss': (cluster, step) => loseNode(cluster, step, 'power-loss'),
  pause: async (cluster, step) => {
    if (isNode(step.target)) return loseNode(cluster, step, 'kubelet-stopped');
    const container = containerOf(cluster, step.target);
    await docker('pause', container);
    return () => docker('unpause', container);
  },
  // What remains: the way to the store, which an API server has in the simulator as well.
  'cut-master': async (cluster, { target }) => {
    const store = await addressesOf(cluster.containerOf('redis'));
    return addRules(containerOf(cluster, target), [
      ...store.flatMap((address) => [
        ['INPUT', '--source', address, '--jump', 'ACCEPT'],
        ['OUTPUT', '--destination', address, '--jump', 'ACCEPT'],
      ]),
      ['INPUT', '!', '--in-interface', 'lo', '--jump', 'DROP'],
      ['OUTPUT', '!', '--out-interface', 'lo', '--jump', 'DROP'],
    ]);
  },
  'lossy-link': async (cluster, { target, value = 0 }) => {
    const chance = ['--match', 'statistic', '--mode', 'random', '--probability', String(value), '--jump', 'DROP'];
    return addRules(containerOf(cluster, target), [
      ['INPUT', '!', '--in-interface', 'lo', ...chance],
      ['OUTPUT', '!', '--out-interface', 'lo', ...chance],
    ]);
  },
  'store-down': async (cluster, { target }) => {
    const store = await addressesOf(cluster.containerOf('redis'));
    const rules = store.flatMap((address) => [
      ['INPUT', '--source', address, '--jump', 'DROP'],
      ['OUTPUT', '--destination', address, '--jump', 'DROP'],
    ]);
    return addRules(containerOf(cluster, target), rules);
  },
  'bus-outage': (cluster) => kill(cluster.containerOf('nats')),
  'store-failover': (cluster) => kill(cluster.containerOf('redis')),
  crash: (cluster, { target }) => kill(containerOf(cluster, target)),
  'delete-pod': async ({ admin }, step) => onPod(admin, step, (pod) => admin.delete(PODS, pod)),
  'delete-again': async ({ admin }, step) =>
    onPod(admin, step, async (pod) => {
      await admin.delete(PODS, pod);
      await admin.delete(PODS, pod, { gracePeriodSeconds: step.value ?? 1 });
    }),
  'delete-named': async ({ admin }, step) => {
    const pod = await findPod(admin, step);
    if (pod === undefined) return;
    const { uid = '' } = pod.metadata;
    return () => admin.delete(PODS, targetOf(pod), { uid }).catch(() => {});
  },
  evict: async ({ admin }, step) => onPod(admin, step, (pod) => admin.evict(pod)),
  'evict-all': async ({ admin }, { target }) => {
    const pods = await podsOf(admin, target);
    await Promise.all(pods.map((pod) => admin.evict(targetOf(pod)).catch(() => {})));
  },
  'roll-out': ({ admin }, { target, at }) =>
    patchApp(admin, target, { spec: { template: { metadata: { annotations: { round: String(at) } } } } }),
  scale: ({ admin }, { target, value = 1 }) =>
    patchApp(admin, target, { spec: { replicas: target === 'disk' ? Math.min(value, 1) : value } }),
  'recreate-pod': async ({ admin }) => {
    await admin.delete(PODS, named('one'));
    return () => createOne(admin);
  },
  'run-job': ({ admin }, { at, value }) => createJob(admin, `job-${Math.round(at * 1000)}`, value),
  drain: async ({ admin }, { target }) => {
    const mark = (unschedulable: boolean): Promise<unknown> =>
      admin.patch(NODES, { name: target }, { type: 'merge', body: { spec: { unschedulable } } });
    await mark(true);
    for (const pod of await podsOf(admin, `@${target}`)) await admin.evict(targetOf(pod)).catch(() => {});
    return () => mark(false);
  },
  'change-budget': async ({ admin }, { value }) =>
    void (await admin.patch(POD_DISRUPTION_BUDGETS, named('web'), {
      type: 'merge',
      body: { spec: { minAvailable: value } },
    })),
};

export const canContainers = (kind: StepKind): boolean => ACTIONS[kind] !== undefined;

/** Begins a step on whom it means now. Users take no for an answer. */
export async function beginStep(cluster: ComposeCluster, step: Step): Promise<End | void> {
  const begin = ACTIONS[step.do];
  invariant(begin !== undefined, 'a scenario is refused before it starts when a step cannot be done', {
    kind: step.do,
  });
  return begin(cluster, step);
}

/** The node of `node-of-db`, also in `@node-of-db`. */
export async function meantNow(admin: ApiClient, step: Step): Promise<Step> {
  const [, before = '', app] = /^(@?)node-of-(\w+)$/.exec(step.target) ?? [];
  if (app === undefined) return step;
  const pods = await podsOf(admin, app);
  const node = pods.toSorted((a, b) => (a.metadata.name ?? '').localeCompare(b.metadata.name ?? ''))[0]?.spec.nodeName;
  return node === undefined ? step : { ...step, target: `${before}${node}` };
}

const isNode = (target: string): boolean => target.startsWith('node-');

/** The first API server has no number in a scenario. */
const containerOf = (cluster: ComposeCluster, target: string): string =>
  cluster.containerOf(target === 'apiserver' ? 'apiserver-1' : target);

async function loseNode(cluster: ComposeCluster, { target }: Step, kind: LossKind): Promise<End> {
  const faults = new NodeFaults(cluster);
  await faults.begin(kind, target);
  return () => faults.end(kind, target);
}

async function kill(container: string): Promise<End> {
  await docker('kill', '--signal', 'KILL', container);
  return () => docker('start', container);
}

/** In front of the rules that are there, in this order. */
async function addRules(container: string, rules: readonly (readonly string[])[]): Promise<End> {
  for (const rule of rules.toReversed()) await inNetworkOf(container, ['iptables', '--insert', ...rule]);
  return async () => {
    for (const rule of rules) await inNetworkOf(container, ['iptables', '--delete', ...rule]);
  };
}

async function podsOf(admin: ApiClient, target: string): Promise<readonly Pod[]> {
  const { items } = await admin.list(PODS, { namespace: named('').namespace });
  return items.filter(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp === undefined &&
      [metadata.name, metadata.labels?.['app'], `@${spec.nodeName}`].includes(target),
  );
}

/** One of the intended pods; the time of the step determines which. */
async function findPod(admin: ApiClient, { target, at }: Step): Promise<Pod | undefined> {
  const pods = await podsOf(admin, target);
  return pods[Math.round(at * 1000) % Math.max(1, pods.length)];
}

const targetOf = ({ metadata: { namespace = '', name = '' } }: Pod) => ({ namespace, name });

async function onPod(
  admin: ApiClient,
  step: Step,
  ask: (pod: { readonly namespace: string; readonly name: string }) => Promise<unknown>,
): Promise<void> {
  const pod = await findPod(admin, step);
  if (pod !== undefined) await ask(targetOf(pod)).catch(() => {});
}

async function patchApp(admin: ApiClient, app: string, body: object): Promise<void> {
  const kind: ResourceRef<KubeObject> = app === 'db' ? STATEFUL_SETS : DEPLOYMENTS;
  await admin.patch(kind, named(app), { type: 'merge', body });
}
