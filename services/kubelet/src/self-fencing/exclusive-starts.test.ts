import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type KubeObject,
  type Lease,
  type Pod,
  type ResourceRef,
  SELF_FENCING,
  SELF_FENCING_BROKEN,
} from '@holdfast/api';
import { type ApiClient, TransportError } from '@holdfast/client';
import { readStaticPod } from '../domain/static-pod.ts';
import { ExclusiveStarts, fencingClassOf } from './exclusive-starts.ts';
import { type PromiseKeeper, PromiseWait } from './promise-keeper.ts';

const SPEC = { containers: [{ name: 'main', image: 'i', command: ['x'], resources: {} }] };
const UID = '0f8fad5b-d9cb-469f-a165-70867728950e';

const ofApi = (annotations: Record<string, string>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db-0', namespace: 'default', uid: UID, annotations },
  spec: { ...SPEC, hostname: 'db-0' },
  status: {},
});

test('the deadline never ends a static pod', () => {
  const pod = readStaticPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: SPEC }, 'n1', 0);
  assert.equal(fencingClassOf(pod), 'never');
});

test('annotations cannot exclude an API pod from the promise: the control plane uses its spec', () => {
  assert.equal(fencingClassOf(ofApi({ 'kubernetes.io/config.source': 'file' })), 'exclusive');
  const like = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': UID };
  assert.equal(fencingClassOf(ofApi(like)), 'exclusive');
});

const LEASE: Lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {},
  spec: { leaseDurationSeconds: 8 },
};

interface Stored {
  readonly pod: Pod | undefined;
  readonly lease?: Lease;
}
const apiWith = ({ pod, lease = LEASE }: Stored) =>
  ({ find: async ({ kind }: { kind: string }) => (kind === 'Lease' ? lease : pod) }) as unknown as ApiClient;

const away = { find: () => Promise.reject(new TransportError('connect ECONNREFUSED')) } as unknown as ApiClient;

test('a node without a promise restarts an exclusive pod during an API outage, and starts none for the first time', async () => {
  let current = apiWith({ pod: ofApi({}) });
  const client = { find: (...asked: Parameters<ApiClient['find']>) => current.find(...asked) } as unknown as ApiClient;
  const starts = new ExclusiveStarts({ client, nodeName: 'n' });
  assert.equal(await starts.confirm(ofApi({}), false), undefined);
  current = away;
  assert.equal(await starts.confirm(ofApi({}), true), undefined);
  await assert.rejects(starts.confirm(ofApi({}), false), PromiseWait);
});

for (const [title, annotations] of [
  ['holds', { [SELF_FENCING]: 'exclusive' }],
  ['is broken', { [SELF_FENCING]: 'exclusive', [SELF_FENCING_BROKEN]: '2026-01-01T00:00:00Z' }],
] as const) {
  test(`[SAFE-26] a machine that lost its promise starts no exclusive pod while the promise in its lease ${title}`, async () => {
    let lease: Lease = { ...LEASE, metadata: { annotations } };
    const client = {
      find: (...asked: [ResourceRef<KubeObject>]) => apiWith({ pod: ofApi({}), lease }).find(asked[0], { name: '' }),
    };
    const starts = new ExclusiveStarts({ client: client as unknown as ApiClient, nodeName: 'n' });
    for (const isRestart of [false, true])
      await assert.rejects(starts.confirm(ofApi({}), isRestart), /promise of an earlier kubelet/);
    lease = LEASE;
    assert.equal(await starts.confirm(ofApi({}), false), undefined, 'the renewal of the lease has taken it back');
  });
}

test('[SAFE-26] a pod that excludes itself waits as well for an earlier promise to end all pods', async () => {
  const pod = ofApi({ [SELF_FENCING]: 'off' });
  const lease: Lease = { ...LEASE, metadata: { annotations: { [SELF_FENCING]: 'all' } } };
  const starts = new ExclusiveStarts({ client: apiWith({ pod, lease }), nodeName: 'n' });
  await assert.rejects(starts.confirm(pod, false), /promise of an earlier kubelet/);
});

test('[SAFE-26] a machine that does not know its lease restarts no exclusive pod during an API outage', async () => {
  const starts = new ExclusiveStarts({ client: away, nodeName: 'n' });
  await assert.rejects(starts.confirm(ofApi({}), true), PromiseWait);
});

const found: readonly (readonly [title: string, pod: Pod | undefined])[] = [
  ['is gone', undefined],
  ['has another uid', { ...ofApi({}), metadata: { ...ofApi({}).metadata, uid: 'other' } }],
  [
    'is being deleted',
    { ...ofApi({}), metadata: { ...ofApi({}).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
  ],
];
for (const [title, pod] of found) {
  test(`[SAFE-26] a node without a promise does not restart an exclusive pod that ${title}, according to the API`, async () => {
    const starts = new ExclusiveStarts({ client: apiWith({ pod }), nodeName: 'n' });
    await assert.rejects(starts.confirm(ofApi({}), true), PromiseWait);
  });
}

for (const policy of ['exclusive', undefined] as const) {
  test(`a node with a promise restarts no exclusive pod during an API outage (policy: ${policy})`, async () => {
    const keeper = { startBefore: () => 10_000 } as unknown as PromiseKeeper;
    const starts = new ExclusiveStarts({ client: away, nodeName: 'n', keeper, policy });
    await assert.rejects(starts.confirm(ofApi({}), true), PromiseWait);
  });
}

test('[SAFE-26] a pod that excludes itself from the promise is looked up before it starts, and needs no promise for that', async () => {
  const pod = ofApi({ [SELF_FENCING]: 'off' });
  const lapsed = {
    startBefore: () => {
      throw new PromiseWait('the promise has lapsed');
    },
  } as unknown as PromiseKeeper;
  const startsWith = (client: ApiClient): ExclusiveStarts =>
    new ExclusiveStarts({ client, nodeName: 'n', keeper: lapsed, policy: 'exclusive' });
  assert.equal(fencingClassOf(pod), 'other');
  assert.equal(await startsWith(apiWith({ pod })).confirm(pod, false), undefined);
  await assert.rejects(startsWith(apiWith({ pod: undefined })).confirm(pod, false), /is to run no more/);
  await assert.rejects(startsWith(away).confirm(pod, false), PromiseWait);
  assert.equal(await startsWith(away).confirm(pod, true), undefined, 'it restarts while the API is away');
  const ofAll = new ExclusiveStarts({ client: apiWith({ pod }), nodeName: 'n', keeper: lapsed, policy: 'all' });
  await assert.rejects(ofAll.confirm(pod, false), /has lapsed/, 'a node that ends all pods ends this one, too');
});
