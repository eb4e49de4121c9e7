import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createSystemClock } from '@holdfast/platform';
import type { Scenario } from '../../scenario/model.ts';
import type { UserKind } from '../../sim/hunt/kinds.ts';
import type { Step } from '../../sim/hunt/plan.ts';
import { createFamily, FINALIZER, STRAYED } from '../../sim/hunt/workloads.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { createApp, createJob, createOne, createSideApp, createSideNamespace, named } from './workloads.ts';

/** Ends what a step has begun. */
export type End = () => Promise<unknown>;
export type Begin = (cluster: ComposeCluster, step: Step, scenario: Scenario) => Promise<End | void>;

const clock = createSystemClock();
const AGAIN_MS = 500;
const ORPHANED_MS = 1_000;
const quietly = (asked: Promise<unknown>): Promise<unknown> => asked.catch(() => undefined);

/** What users do, as in the simulator; `CONTAINER_REFUSALS` says why not for the others. */
export const USER_ACTIONS: Readonly<Partial<Record<UserKind, Begin>>> = {
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
    return () => deleteNamed(admin, targetOf(pod), uid);
  },
  evict: async ({ admin }, step) => onPod(admin, step, (pod) => admin.evict(pod)),
  // Concurrent, as several drains are, through all API servers.
  'evict-all': async ({ admin, users }, { target }) => {
    const pods = await podsOf(admin, target);
    await Promise.all(pods.map((pod, i) => quietly(userOf(users, i).evict(targetOf(pod)))));
  },
  race: async ({ admin, users }, { target, at }) => {
    const first = Math.round(at * 1000);
    const pods = await podsOf(admin, target);
    const acts = pods.map((pod, i) => RACING[(first + i) % RACING.length]?.(userOf(users, first + i), targetOf(pod)));
    await Promise.all(acts.map((act) => quietly(Promise.resolve(act))));
  },
  'roll-out': ({ admin }, { target, at }) =>
    patchApp(admin, target, { spec: { template: { metadata: { annotations: { round: String(at) } } } } }),
  scale: ({ admin }, { target, value = 1 }) =>
    patchApp(admin, target, { spec: { replicas: target === 'disk' ? Math.min(value, 1) : value } }),
  'recreate-pod': async ({ admin }, _step, scenario) => {
    await admin.delete(PODS, named('one'));
    return () => createOne(admin, scenario);
  },
  'recreate-set': async ({ admin }, { target }, scenario) => {
    await admin.delete(kindOf(target), named(target));
    await quietly(createApp(admin, scenario, target));
  },
  'run-job': ({ admin }, { at, value }) => createJob(admin, `job-${Math.round(at * 1000)}`, value),
  'use-app': async ({ admin }, { at, value = 0 }, scenario) => {
    const name = `side-${Math.round(at * 1000)}`;
    const propagationPolicy = value === 0 ? 'Background' : 'Foreground';
    await createSideApp(admin, scenario, name);
    return () => untilDone(() => admin.delete(DEPLOYMENTS, named(name), { propagationPolicy }));
  },
  'use-owner': async ({ admin }, { at, value = 1 }) => {
    const name = `owner-${Math.round(at * 1000)}`;
    await createFamily(admin, name, value);
    return () => untilDone(() => admin.delete(CONFIG_MAPS, named(name)));
  },
  'add-finalizer': async ({ admin }, step) => {
    const pod = await findPod(admin, step);
    if (pod === undefined) return;
    const finalizers = [...(pod.metadata.finalizers ?? []), FINALIZER];
    await quietly(admin.update(PODS, { ...pod, metadata: { ...pod.metadata, finalizers } }));
    return () => letGoOf(admin, targetOf(pod));
  },
  drain: async ({ admin }, { target }) => {
    const mark = (unschedulable: boolean): Promise<unknown> =>
      admin.patch(NODES, { name: target }, { type: 'merge', body: { spec: { unschedulable } } });
    await mark(true);
    for (const pod of await podsOf(admin, `@${target}`)) await quietly(admin.evict(targetOf(pod)));
    return () => untilDone(() => mark(false));
  },
  'bind-pod': async ({ admin, users }, { at }) => {
    const { items } = await admin.list(PODS);
    const pod = items.find(({ spec }) => spec.nodeName === undefined);
    if (pod === undefined) return;
    const moment = Math.round(at * 1000);
    await quietly(userOf(users, moment).bind(targetOf(pod), `node-${(moment % 3) + 1}`, pod.metadata.uid ?? ''));
  },
  'change-budget': async ({ admin }, { value }) =>
    void (await admin.patch(POD_DISRUPTION_BUDGETS, named('web'), {
      type: 'merge',
      body: { spec: { minAvailable: value } },
    })),
  'orphan-set': async ({ admin }, { target }, scenario) => {
    await admin.delete(kindOf(target), named(target), { propagationPolicy: 'Orphan' });
    await clock.sleep(ORPHANED_MS);
    await quietly(createApp(admin, scenario, target));
  },
  'relabel-pod': async ({ admin }, step) => {
    const pod = await findPod(admin, step);
    const was = pod?.metadata.labels?.['app'] ?? STRAYED;
    if (pod === undefined || was === STRAYED) return;
    const label = (app: string): Promise<unknown> =>
      admin.patch(PODS, targetOf(pod), { type: 'merge', body: { metadata: { labels: { app, was } } } });
    await quietly(label(STRAYED));
    // A pod that stays away keeps its name, and its controller waits for it.
    return () => untilDone(() => label(was));
  },
  'use-namespace': async ({ admin }, { at }, scenario) => {
    const name = `side-${Math.round(at * 1000)}`;
    await createSideNamespace(admin, scenario, name);
    return () => untilDone(() => admin.delete(NAMESPACES, { name }));
  },
};

type Racing = (user: ApiClient, pod: Named) => Promise<unknown>;
const evict: Racing = (user, pod) => user.evict(pod);
const RACING: readonly Racing[] = [
  evict,
  (user, pod) => user.delete(PODS, pod),
  evict,
  (user, pod) => user.patch(PODS, pod, { type: 'merge', body: { metadata: { annotations: { touched: 'true' } } } }),
];

interface Named {
  readonly namespace: string;
  readonly name: string;
}

function userOf(users: readonly ApiClient[], i: number): ApiClient {
  const user = users[i % users.length];
  if (user === undefined) throw new Error('the cluster has no API server');
  return user;
}

export const kindOf = (app: string): ResourceRef<KubeObject> => (app === 'db' ? STATEFUL_SETS : DEPLOYMENTS);
const targetOf = ({ metadata: { namespace = '', name = '' } }: KubeObject): Named => ({ namespace, name });

/** A deletion that names another pod than the one that is there now must be refused; throws what it did instead. */
async function deleteNamed(admin: ApiClient, target: Named, uid: string): Promise<void> {
  const now = await admin.find(PODS, target);
  const accepted = await admin.delete(PODS, target, { uid }).then(
    () => true,
    () => false,
  );
  if (accepted && now !== undefined && now.metadata.uid !== uid)
    throw new BrokenPromise(
      `a deletion takes the uid that it names: ${target.name} ${now.metadata.uid} was deleted as ${uid}`,
    );
}

/** A user has seen what must not be. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';
}

/** Asks until it is done; one who is told that it is gone, or going, is satisfied. */
async function untilDone(ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
      await clock.sleep(AGAIN_MS);
    }
  }
}

/** Takes the finalizer of users off. */
export async function letGoOf(admin: ApiClient, target: Named): Promise<void> {
  for (;;) {
    try {
      const pod = await admin.find(PODS, target);
      if (pod?.metadata.finalizers?.includes(FINALIZER) !== true) return;
      const finalizers = pod.metadata.finalizers.filter((each) => each !== FINALIZER);
      await admin.update(PODS, { ...pod, metadata: { ...pod.metadata, finalizers } });
      return;
    } catch {
      await clock.sleep(AGAIN_MS);
    }
  }
}

/** Gives pods that were taken from their controller back to it. */
export async function bringStraysBack(admin: ApiClient): Promise<void> {
  for (const pod of (await admin.list(PODS, { labelSelector: `app=${STRAYED}` })).items) {
    const body = { metadata: { labels: { app: pod.metadata.labels?.['was'] } } };
    await quietly(admin.patch(PODS, targetOf(pod), { type: 'merge', body }));
  }
}

export async function podsOf(admin: ApiClient, target: string): Promise<readonly Pod[]> {
  const { items } = await admin.list(PODS, { namespace: named('').namespace });
  return items.filter(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp === undefined &&
      [metadata.name, metadata.labels?.['app'], `@${spec.nodeName}`].includes(target),
  );
}

/** One of the intended pods; the time of the step determines which. */
export async function findPod(admin: ApiClient, { target, at }: Step): Promise<Pod | undefined> {
  const pods = await podsOf(admin, target);
  return pods[Math.round(at * 1000) % Math.max(1, pods.length)];
}

async function onPod(admin: ApiClient, step: Step, ask: (pod: Named) => Promise<unknown>): Promise<void> {
  const pod = await findPod(admin, step);
  if (pod !== undefined) await quietly(ask(targetOf(pod)));
}

async function patchApp(admin: ApiClient, app: string, body: object): Promise<void> {
  await admin.patch(kindOf(app), named(app), { type: 'merge', body });
}
