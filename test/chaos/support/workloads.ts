import assert from 'node:assert/strict';
import {
  DEPLOYMENTS,
  type Deployment,
  NODES,
  type Node,
  PODS,
  type Pod,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../../support/wait.ts';
import { HEARTBEAT_COMMAND, type Life, readLives } from './heartbeats.ts';

const NAMESPACE = 'default';
/** Pods of the StatefulSet `db`. */
export const IDENTITIES = 3;
/** Pods of the Deployment `web`. */
export const REPLICAS = 6;
const TOLERATION_SECONDS = 2;
/** Heartbeats arrive five times a second; silence of this length means that nothing is left. */
export const SILENCE_MS = 3_000;

const clock = createSystemClock();

export async function createWorkloads(admin: ApiClient): Promise<void> {
  await admin.create(STATEFUL_SETS, statefulSet());
  await admin.create(DEPLOYMENTS, deployment());
}

export async function describePods(admin: ApiClient): Promise<string> {
  const set = await admin.get(STATEFUL_SETS, { namespace: NAMESPACE, name: 'db' });
  const web = await admin.get(DEPLOYMENTS, { namespace: NAMESPACE, name: 'web' });
  const pods = (await admin.list(PODS, { namespace: NAMESPACE })).items.map(({ metadata, spec, status }) => {
    const conditions = status?.conditions?.map((each) => `${each.type}=${each.status}`).join(' ');
    return `${metadata.name} ${metadata.uid} on ${spec?.nodeName} deleted ${metadata.deletionTimestamp} ${status?.phase} ${conditions}`;
  });
  return [JSON.stringify(set.status), JSON.stringify(web.status), ...pods].join('\n');
}

/** Every process that gives signs of life belongs to a pod that exists. */
export async function nobodyLivesOutsideTheStore(admin: ApiClient, folder: string): Promise<void> {
  await waitFor('only pods of the store to be alive', async () => {
    const known = new Set((await admin.list(PODS, { namespace: NAMESPACE })).items.map((pod) => pod.metadata.uid));
    const alive = (await readLives(folder)).filter((life) => clock.now() - life.lastMs < SILENCE_MS);
    return alive.length === IDENTITIES + REPLICAS && alive.every((life) => known.has(life.uid));
  });
}

/** The condition is checked again and again, and must never fail. */
export async function holds(durationMs: number, check: () => Promise<void>): Promise<void> {
  const until = clock.monotonic() + durationMs;
  while (clock.monotonic() < until) {
    await check();
    await clock.sleep(250);
  }
}

export async function podsOf(admin: ApiClient, app: string): Promise<readonly Pod[]> {
  return (await admin.list(PODS, { namespace: NAMESPACE, labelSelector: `app=${app}` })).items;
}

/** The pods that have these names now. */
export function sameObjects(admin: ApiClient, pods: readonly Pod[]): Promise<readonly (Pod | undefined)[]> {
  return Promise.all(pods.map((pod) => admin.find(PODS, { namespace: NAMESPACE, name: pod.metadata.name ?? '' })));
}

export async function allReady(admin: ApiClient): Promise<boolean> {
  const set = await admin.get(STATEFUL_SETS, { namespace: NAMESPACE, name: 'db' });
  const web = await admin.get(DEPLOYMENTS, { namespace: NAMESPACE, name: 'web' });
  const [identities, replicas] = [await podsOf(admin, 'db'), await podsOf(admin, 'web')];
  return (
    set.status?.readyReplicas === IDENTITIES &&
    web.status?.readyReplicas === REPLICAS &&
    identities.length === IDENTITIES &&
    replicas.length === REPLICAS &&
    [...identities, ...replicas].every((pod) => pod.metadata.deletionTimestamp === undefined && isPodReady(pod))
  );
}

export async function recoveredWithout(admin: ApiClient, lost: string): Promise<boolean> {
  const elsewhere = (await podsOf(admin, 'web')).filter((pod) => pod.spec?.nodeName !== lost && isPodReady(pod));
  return elsewhere.length === REPLICAS;
}

/** A node that runs an identity and a replica. */
export async function chooseVictim(admin: ApiClient): Promise<string> {
  const nodesOf = (pods: readonly Pod[]): Set<string> => new Set(pods.map((pod) => pod.spec?.nodeName ?? ''));
  const withIdentity = nodesOf(await podsOf(admin, 'db'));
  const withReplica = nodesOf(await podsOf(admin, 'web'));
  const [victim] = [...withIdentity].filter((name) => withReplica.has(name)).toSorted();
  assert.ok(victim !== undefined, 'some node runs pods of both workloads');
  return victim;
}

export async function isReady(admin: ApiClient, nodeName: string): Promise<boolean> {
  const node: Node = await admin.get(NODES, { name: nodeName });
  return node.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}

function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}

export const identitiesOf = (lives: readonly Life[]): readonly Life[] =>
  lives.filter((life) => life.pod.startsWith('db-'));

export function lastSign(lives: readonly Life[], uid: string | undefined): number {
  return Math.max(0, ...lives.filter((life) => life.uid === uid).map((life) => life.lastMs));
}

function podTemplate(app: string): StatefulSet['spec']['template'] {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const whileLost = (key: string) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: TOLERATION_SECONDS,
  });
  return {
    metadata: { labels: { app } },
    spec: {
      terminationGracePeriodSeconds: 10,
      tolerations: [whileLost('node.kubernetes.io/not-ready'), whileLost('node.kubernetes.io/unreachable')],
      containers: [
        {
          name: 'main',
          image: 'heartbeat',
          resources: {},
          command: [...HEARTBEAT_COMMAND],
          env: [
            field('POD_NAME', 'metadata.name'),
            field('POD_UID', 'metadata.uid'),
            field('NODE_NAME', 'spec.nodeName'),
          ],
        },
      ],
    },
  };
}

function statefulSet(): StatefulSet {
  const selector = { matchLabels: { app: 'db' } };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: NAMESPACE },
    spec: { replicas: IDENTITIES, serviceName: 'db', selector, template: podTemplate('db'), updateStrategy: {} },
    status: { replicas: 0 },
  };
}

function deployment(): Deployment {
  const selector = { matchLabels: { app: 'web' } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { replicas: REPLICAS, selector, template: podTemplate('web'), strategy: {} },
    status: {},
  };
}
