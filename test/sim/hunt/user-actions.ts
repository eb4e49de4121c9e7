import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type ResourceRef,
  STATEFUL_SETS,
  type Taint,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { SimCluster } from '../cluster.ts';
import { appOf } from '../workloads.ts';
import type { UserKind } from './kinds.ts';
import type { Step } from './plan.ts';
import {
  type Action,
  findByName,
  findPod,
  giveUpNode,
  insist,
  isOff,
  pauseOf,
  podsOf,
  type Scene,
  send,
} from './scene.ts';
import {
  BOUNDED,
  createApp,
  createCounted,
  createDeployment,
  createFamily,
  createJob,
  createLarge,
  createOne,
  createSideNamespace,
  FINALIZER,
  named,
  STRAYED,
} from './workloads.ts';

const SIDE_REPLICAS = 2;
const REFUSED_STAYS_MS = 40_000;
/** The life of an owner that comes and goes, and the time until the next one. */
const LONGEST_CHURNED_MS = 3_000;
/** Most of the users of a race come at once, and the others soon after them. */
const RACE_MS = 1_500;
const OUT_OF_SERVICE: Taint = { key: 'node.kubernetes.io/out-of-service', value: 'lost', effect: 'NoExecute' };

export const USER_ACTIONS: Readonly<Record<UserKind, Action>> = {
  'delete-pod': (scene, step) => onPod(scene, step, (admin, pod) => admin.delete(PODS, named(pod))),
  'delete-again': (scene, step) =>
    onPod(scene, step, async (admin, pod) => {
      await admin.delete(PODS, named(pod));
      await admin.delete(PODS, named(pod), { gracePeriodSeconds: step.value ?? 1 });
    }),
  'delete-named': (scene, step) => {
    const { cluster } = scene;
    const name = findPod(scene, step);
    const pod = findByName(cluster.committed.list(PODS), name ?? '');
    const { uid = '' } = pod?.metadata ?? {};
    if (pod === undefined) return;
    return () => {
      scene.named.add(uid);
      send(cluster, () => cluster.careful.delete(PODS, targetOf(pod), { uid }));
    };
  },
  // It gives up the identity, not the disk: that stays attached until the node lets it go.
  'force-delete': (scene, step) => {
    onPod(scene, step, (admin, pod) => {
      scene.cluster.oracle.release('default', pod);
      return admin.delete(PODS, named(pod), { gracePeriodSeconds: 0 });
    });
  },
  evict: (scene, step) => onPod(scene, step, (admin, pod) => admin.evict(named(pod))),
  // Concurrent, as several drains are, through all API servers.
  'evict-all': (scene, { target }) => {
    for (const [i, pod] of podsOf(scene, target).entries())
      send(scene.cluster, () => racer(scene.cluster, i).evict(named(pod)));
  },
  race: (scene, { target, at }) => {
    const { cluster } = scene;
    const first = Math.round(at * 1000);
    const delays = cluster.kernel.random(`race ${first}`);
    for (const [i, pod] of podsOf(scene, target).entries()) {
      const act = RACING[(first + i) % RACING.length] ?? evict;
      const delayMs = delays.float() ** 3 * RACE_MS;
      send(
        cluster,
        () => pauseOf(cluster, delayMs),
        () => act(racer(cluster, first + i), pod),
      );
    }
  },
  'roll-out': ({ cluster }, { target, at }) => {
    const template = { metadata: { annotations: { round: String(at) } } };
    send(cluster, () => patchApp(cluster, target, { spec: { template } }));
  },
  scale: ({ cluster }, { target, value = 1 }) => {
    const replicas = target === 'disk' ? Math.min(value, 2) : value;
    send(cluster, () => patchApp(cluster, target, { spec: { replicas } }));
  },
  'recreate-pod': ({ cluster, plan }) => {
    const { admin } = cluster;
    send(cluster, () => admin.delete(PODS, named('one')));
    return () => send(cluster, () => createOne(plan, admin));
  },
  'recreate-set': ({ cluster, plan }, { target }) => {
    const { admin } = cluster;
    const kind: ResourceRef<KubeObject> = target === 'db' ? STATEFUL_SETS : DEPLOYMENTS;
    send(
      cluster,
      () => admin.delete(kind, named(target)),
      () => createApp(plan, admin, target),
    );
  },
  'run-job': ({ cluster }, { at, value }) =>
    send(cluster, () => createJob(cluster.admin, `job-${Math.round(at * 1000)}`, value)),
  'use-app': ({ cluster, plan }, { at, value = 0 }) => {
    const { admin } = cluster;
    const name = `side-${Math.round(at * 1000)}`;
    const propagationPolicy = value === 0 ? 'Background' : 'Foreground';
    send(cluster, () => createDeployment(plan, admin, { app: name, replicas: SIDE_REPLICAS }));
    return () =>
      cluster.background(insist(cluster, () => deleteUnlessGone(admin, DEPLOYMENTS, name, { propagationPolicy })));
  },
  'use-owner': ({ cluster }, { at, value = 1 }) => {
    const name = `owner-${Math.round(at * 1000)}`;
    send(cluster, () => createFamily(cluster.admin, name, value));
    return () => cluster.background(insist(cluster, () => deleteUnlessGone(cluster.admin, CONFIG_MAPS, name)));
  },
  'churn-owners': ({ cluster }, { at, for: seconds = 0, value = 1 }) => {
    const lives = cluster.kernel.random(`churn ${at}`);
    const endMs = cluster.kernel.elapsedMs + seconds * 1000;
    const churn = async (): Promise<void> => {
      for (let i = 0; cluster.kernel.elapsedMs < endMs; i++) {
        const name = `short-${Math.round(at * 1000)}-${i}`;
        await createFamily(cluster.admin, name, value).catch(() => undefined);
        await pauseOf(cluster, lives.float() ** 2 * LONGEST_CHURNED_MS);
        await insist(cluster, () => deleteUnlessGone(cluster.admin, CONFIG_MAPS, name));
        await pauseOf(cluster, lives.float() * LONGEST_CHURNED_MS);
      }
    };
    cluster.background(churn());
  },
  'use-room': ({ cluster, plan }, { target, at, for: seconds = 0, value = 2 }) => {
    const { admin } = cluster;
    const names = Array.from({ length: value }, (_, i) => `room-${Math.round(at * 1000)}-${i}`);
    send(cluster, ...names.map((name) => () => createLarge(plan, admin, { name, node: target })));
    // There is room again, and nobody cleans up at once what the node has refused.
    const remove = async (): Promise<void> => {
      for (const [i, name] of names.entries()) {
        await insist(cluster, () => deleteUnlessGone(admin, PODS, name));
        await pauseOf(cluster, i === 0 ? REFUSED_STAYS_MS : (seconds * 1000) / 2);
      }
    };
    return () => cluster.background(remove());
  },
  'fill-quota': ({ cluster }, { at, value = 2 }) => {
    const names = Array.from({ length: value }, (_, i) => `filled-${Math.round(at * 1000)}-${i}`);
    for (const [i, name] of names.entries()) send(cluster, () => createCounted(racer(cluster, i), name));
    const remove = (name: string) => () => deleteUnlessGone(cluster.admin, CONFIG_MAPS, name, { namespace: BOUNDED });
    return () => {
      for (const name of names) cluster.background(insist(cluster, remove(name)));
    };
  },
  'add-finalizer': (scene, step) => {
    const { cluster } = scene;
    const pod = findPod(scene, step);
    if (pod === undefined) return;
    send(cluster, () => hold(cluster.admin, pod));
    return () => cluster.background(insist(cluster, () => letGo(cluster.admin, pod)));
  },
  drain: (scene, { target }) => {
    const { cluster } = scene;
    const set = (unschedulable: boolean) =>
      cluster.admin.patch(NODES, { name: target }, { type: 'merge', body: { spec: { unschedulable } } });
    const pods = cluster.committed.list(PODS).filter(({ spec }) => spec.nodeName === target);
    const evictions = pods.map((pod) => () => cluster.admin.evict(targetOf(pod)));
    send(cluster, () => set(true), ...evictions);
    return () => send(cluster, () => set(false));
  },
  'delete-node': (scene, { target }) => {
    const { cluster } = scene;
    giveUpNode(scene, target);
    send(cluster, () => cluster.admin.delete(NODES, { name: target }));
  },
  'lose-machine': (scene, { target }) => {
    const { cluster, retired } = scene;
    if (isOff(scene, target)) return;
    retired.add(target);
    cluster.powerOff(target);
    send(cluster, () => taint(cluster, target, [OUT_OF_SERVICE]));
    return () => cluster.background(recommission(scene, target));
  },
  'taint-healthy': (scene, { target }) => {
    const { cluster } = scene;
    if (isOff(scene, target)) return;
    // Should the node be lost meanwhile, the user has given its pods up.
    giveUpNode(scene, target);
    send(cluster, () => taint(cluster, target, [OUT_OF_SERVICE]));
    return () => {
      giveUpNode(scene, target);
      cluster.background(insist(cluster, () => taint(cluster, target, [])));
    };
  },
  'bind-pod': ({ cluster }, { at }) => {
    const pod = cluster.committed.list(PODS).find(({ spec }) => spec.nodeName === undefined);
    const node = cluster.nodeNames[Math.round(at * 1000) % cluster.nodeNames.length] ?? '';
    const { name = '', uid = '' } = pod?.metadata ?? {};
    if (pod !== undefined) send(cluster, () => cluster.watcher.bind(targetOf(pod), node, uid === name ? '' : uid));
  },
  'change-budget': ({ cluster }, { value }) => {
    const body = { spec: { minAvailable: value } };
    send(cluster, () => cluster.admin.patch(POD_DISRUPTION_BUDGETS, named('web'), { type: 'merge', body }));
  },
  'orphan-set': (scene, { target }) => {
    const { cluster } = scene;
    const { admin } = cluster;
    const kind: ResourceRef<KubeObject> = target === 'db' ? STATEFUL_SETS : DEPLOYMENTS;
    const orphan = { propagationPolicy: 'Orphan' } as const;
    send(
      cluster,
      () => admin.delete(kind, named(target), orphan),
      () => pauseOf(cluster, 1_000),
      () => createApp(scene.plan, admin, target),
    );
  },
  'relabel-pod': (scene, step) => {
    const { cluster } = scene;
    const name = findPod(scene, step);
    const pod = findByName(cluster.committed.list(PODS), name ?? '');
    if (pod === undefined || appOf(pod) === STRAYED) return;
    const label = (app: string) =>
      cluster.admin.patch(PODS, targetOf(pod), {
        type: 'merge',
        body: { metadata: { labels: { app, was: appOf(pod) } } },
      });
    send(cluster, () => label(STRAYED));
    return () => send(cluster, () => label(appOf(pod)));
  },
  'use-namespace': ({ cluster, plan }, { at }) => {
    const { admin } = cluster;
    const name = `side-${Math.round(at * 1000)}`;
    send(cluster, () => createSideNamespace(plan, admin, name));
    return () => cluster.background(insist(cluster, () => deleteNamespace(admin, name)));
  },
};

type Racing = (user: ApiClient, pod: string) => Promise<unknown>;
const evict: Racing = (user, pod) => user.evict(named(pod));
const RACING: readonly Racing[] = [
  evict,
  (user, pod) => user.delete(PODS, named(pod)),
  evict,
  (user, pod) =>
    user.patch(PODS, named(pod), { type: 'merge', body: { metadata: { annotations: { touched: 'true' } } } }),
];

/** A user of one of the API servers. */
function racer({ racers, admin }: SimCluster, i: number): ApiClient {
  return racers[i % racers.length] ?? admin;
}

async function deleteUnlessGone(
  admin: ApiClient,
  kind: ResourceRef<KubeObject>,
  name: string,
  {
    namespace = 'default',
    ...options
  }: { readonly namespace?: string; readonly propagationPolicy?: 'Background' | 'Foreground' } = {},
): Promise<void> {
  try {
    await admin.delete(kind, { namespace, name }, options);
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 404) throw error;
  }
}

const targetOf = ({ metadata: { namespace = '', name = '' } }: KubeObject) => ({ namespace, name });

/** The operator takes the taint back before the machine starts. */
export async function recommission(scene: Scene, node: string): Promise<void> {
  const { cluster, retired } = scene;
  if (!retired.has(node)) return;
  await insist(cluster, () => taint(cluster, node, []));
  if (retired.delete(node) && !isOff(scene, node)) cluster.powerOn(node);
}

/** Sets the taints that users give; those of the control plane stay. */
async function taint({ admin }: SimCluster, name: string, ofUsers: readonly Taint[]): Promise<void> {
  const node = await admin.find(NODES, { name });
  if (node === undefined) return;
  const others = (node.spec.taints ?? []).filter(({ key }) => key !== OUT_OF_SERVICE.key);
  await admin.update(NODES, { ...node, spec: { ...node.spec, taints: [...others, ...ofUsers] } });
}

async function hold(admin: ApiClient, name: string): Promise<void> {
  const pod = await admin.get(PODS, named(name));
  const finalizers = [...(pod.metadata.finalizers ?? []), FINALIZER];
  await admin.update(PODS, { ...pod, metadata: { ...pod.metadata, finalizers } });
}

export async function letGo(admin: ApiClient, name: string): Promise<void> {
  const pod = await admin.find(PODS, named(name));
  if (pod?.metadata.finalizers?.includes(FINALIZER) !== true) return;
  const finalizers = pod.metadata.finalizers.filter((each) => each !== FINALIZER);
  await admin.update(PODS, { ...pod, metadata: { ...pod.metadata, finalizers } });
}

async function deleteNamespace(admin: ApiClient, name: string): Promise<void> {
  try {
    await admin.delete(NAMESPACES, { name });
  } catch (error) {
    const isGone = error instanceof StatusError && (error.code === 404 || error.code === 409);
    if (!isGone) throw error;
  }
}

function onPod(scene: Scene, step: Step, ask: (admin: SimCluster['admin'], pod: string) => Promise<unknown>): void {
  const pod = findPod(scene, step);
  if (pod !== undefined) send(scene.cluster, () => ask(scene.cluster.admin, pod));
}

async function patchApp({ admin }: SimCluster, app: string, body: object): Promise<void> {
  const kind: ResourceRef<KubeObject> = app === 'db' ? STATEFUL_SETS : DEPLOYMENTS;
  await admin.patch(kind, named(app), { type: 'merge', body });
}
