import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, Pod } from '@holdfast/api';
import type { ApiClient, KubeList } from '@holdfast/client';
import { conflict, MODIFIED_CONCURRENTLY } from '@holdfast/machinery';
import { createSeededRandom, createSilentLog, createSystemClock, InvariantViolation } from '@holdfast/platform';
import { HOLLOW_PROBE_NETWORK } from '../container/probe-network.ts';
import { NO_CLUSTER_DNS } from '../domain/network-identity.ts';
import { UserRanges } from '../node/user-ranges.ts';
import { eventually } from '../runtime/contract.ts';
import { createHollowRuntime, type HollowProcessFact } from '../runtime/hollow/index.ts';
import type { ContainerRuntime, SandboxStatus } from '../runtime/port.ts';
import { createApiPodObject } from './pod-object.ts';
import { PodWorker } from './pod-worker.ts';

const clock = createSystemClock();

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u1', resourceVersion: '5' },
  spec: { containers: [{ name: 'main', image: 'i', command: ['stay'], resources: {} }], nodeName: 'n1' },
  status: { phase: 'Pending' },
};

/** Knows one pod and takes every status. */
function clientOf(stored: () => Pod | undefined, remove?: ApiClient['delete']): ApiClient {
  const refuse = (): never => assert.fail('not asked for in this test');
  // The one object is a pod, whatever kind the caller names.
  const answer = <T extends KubeObject>(): Promise<T> => Promise.resolve(stored() as KubeObject as T);
  const listed = async <T extends KubeObject>(): Promise<KubeList<T>> => {
    const found = await answer<T>();
    return { resourceVersion: '9', continueToken: undefined, items: found === undefined ? [] : [found] };
  };
  return {
    get: refuse,
    find: refuse,
    patch: answer,
    list: listed,
    watch: refuse,
    create: refuse,
    update: refuse,
    updateStatus: refuse,
    updateSubresource: refuse,
    delete: remove ?? refuse,
    resourcesOf: refuse,
    bind: refuse,
    evict: refuse,
  };
}

function world(
  stored: () => Pod | undefined,
  wrap: (runtime: ContainerRuntime) => ContainerRuntime,
  remove?: ApiClient['delete'],
) {
  const facts: HollowProcessFact[] = [];
  const observe = (fact: HollowProcessFact): number => facts.push(fact);
  const runtime = wrap(createHollowRuntime({ clock, random: createSeededRandom(1, 'worker'), observe }));
  const worker = new PodWorker(
    {
      client: clientOf(stored, remove),
      runtime,
      events: { event: () => {} },
      clock,
      log: createSilentLog(),
      network: HOLLOW_PROBE_NETWORK,
      node: { address: '192.0.2.1', hostname: 'machine', operatingSystem: 'linux', runtimeName: 'hollow' },
      object: createApiPodObject(clientOf(stored, remove), 'n1'),
      allocatable: {},
      dns: NO_CLUSTER_DNS,
      services: () => Promise.resolve([]),
      ranges: new UserRanges(undefined),
      admission: {
        admit: () => Promise.resolve(undefined),
        hold: () => {},
        release: () => {},
        node: () => assert.fail('no volumes here'),
      },
      nameIsTaken: () => false,
      onSettled: () => {},
    },
    { uid: 'u1', namespace: 'default', name: 'p' },
  );
  return { worker, facts, runtime };
}

test('[SAFE-32] a pod in doubt while the runtime answers is not treated as gone', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let calls = 0;
  const slowOnce = (runtime: ContainerRuntime): ContainerRuntime => ({
    ...runtime,
    list: async (filter): Promise<readonly SandboxStatus[]> => {
      calls++;
      if (calls === 1) {
        asked.resolve();
        await answer.promise;
      }
      return runtime.list(filter);
    },
  });
  const { worker, facts } = world(() => pod, slowOnce);
  worker.offer(pod);
  await asked.promise;
  worker.doubt();
  answer.resolve();
  await eventually(() => facts.length > 0, 'it starts');
  assert.equal(worker.hasEnded(), false);
  await worker.stop();
});

test('a pod missing in the API terminates with its processes', async () => {
  let stored: Pod | undefined = pod;
  const { worker, facts, runtime } = world(
    () => stored,
    (each) => each,
  );
  worker.offer(pod);
  await eventually(() => facts.length === 1, 'it starts');
  stored = undefined;
  worker.doubt();
  await eventually(() => worker.hasEnded(), 'the worker ended');
  assert.deepEqual([facts.map(({ kind }) => kind), await runtime.list()], [['started', 'ended'], []]);
});

test('[SAFE-31] what a late cache offers of a pod in doubt does not make it known to the API', async () => {
  let stored: Pod | undefined = pod;
  const { worker, facts } = world(
    () => stored,
    (each) => each,
  );
  worker.offer(pod);
  await eventually(() => facts.length === 1, 'it starts');
  stored = undefined;
  worker.doubt();
  worker.offer({ ...pod, metadata: { ...pod.metadata, resourceVersion: '7' } });
  assert.equal(worker.isKnownToApi(), false);
  await eventually(() => worker.hasEnded(), 'the worker ended');
});

test('[SAFE-26] the same name with another UID is another pod', async (t) => {
  const other = { ...pod, metadata: { ...pod.metadata, uid: 'u2' } };
  // A worker that takes the other pod for its own starts it without end, and no time-out of the test would fire.
  let looks = 0;
  const { worker, facts } = world(
    () => other,
    (runtime) => ({
      ...runtime,
      list: (filter) => {
        looks += 1;
        return looks > 100 ? Promise.reject(new Error('the worker never rests')) : runtime.list(filter);
      },
    }),
  );
  t.after(() => worker.stop());
  worker.wake();
  await eventually(() => worker.hasEnded() || looks > 100, 'the worker ended or never rests');
  assert.deepEqual([worker.hasEnded(), facts], [true, []]);
});

test('[SAFE-07] a final delete that conflicts is retried', async () => {
  const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1, resourceVersion: '6' };
  let stored: Pod | undefined = { ...pod, metadata: { ...pod.metadata, ...deletion } };
  let asked = 0;
  const busyOnce: ApiClient['delete'] = async () => {
    asked++;
    if (asked === 1) throw conflict({ group: '', resource: 'pods', name: 'p' }, MODIFIED_CONCURRENTLY);
    stored = undefined;
  };
  const { worker } = world(
    () => stored,
    (each) => each,
    busyOnce,
  );
  worker.offer({ ...pod, metadata: { ...pod.metadata, ...deletion } });
  await eventually(() => worker.hasEnded(), 'the worker ended');
  assert.equal(asked, 2);
});

test('[SAFE-26] a worker refuses a pod of another uid', () => {
  const { worker } = world(
    () => pod,
    (each) => each,
  );
  assert.throws(() => worker.offer({ ...pod, metadata: { ...pod.metadata, uid: 'u2' } }), InvariantViolation);
});
