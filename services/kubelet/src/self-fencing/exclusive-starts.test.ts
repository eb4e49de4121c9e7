import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
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

test('a pod of a file of the node is never ended by the deadline', () => {
  const pod = readStaticPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: SPEC }, 'n1', 0);
  assert.equal(fencingClassOf(pod), 'never');
});

test('a pod of the API does not leave the promise by annotations: the control plane goes by its spec', () => {
  assert.equal(fencingClassOf(ofApi({ 'kubernetes.io/config.source': 'file' })), 'exclusive');
  const like = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': UID };
  assert.equal(fencingClassOf(ofApi(like)), 'exclusive');
});

const away = { find: () => Promise.reject(new Error('connect ECONNREFUSED')) } as unknown as ApiClient;

test('a node that promises nothing restarts an exclusive pod while the API is away, and starts none for the first time', async () => {
  const starts = new ExclusiveStarts({ client: away });
  assert.equal(await starts.confirm(ofApi({}), true), undefined);
  await assert.rejects(starts.confirm(ofApi({}), false), PromiseWait);
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
  test(`[SAFE-26] a node that promises nothing does not restart an exclusive pod that ${title}, by the word of the API`, async () => {
    const starts = new ExclusiveStarts({ client: { find: async () => pod } as unknown as ApiClient });
    await assert.rejects(starts.confirm(ofApi({}), true), PromiseWait);
  });
}

for (const policy of ['exclusive', undefined] as const) {
  test(`a node that has promised restarts no exclusive pod while the API is away (policy: ${policy})`, async () => {
    const keeper = { startBefore: () => 10_000 } as unknown as PromiseKeeper;
    const starts = new ExclusiveStarts({ client: away, keeper, policy });
    await assert.rejects(starts.confirm(ofApi({}), true), PromiseWait);
  });
}
