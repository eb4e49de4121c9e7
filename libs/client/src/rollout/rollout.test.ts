import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControllerRevision, KubeObject, Pod, ReplicaSet } from '@holdfast/api/facts';
import { revisionsOf } from './rollout.ts';

const owner = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'X', name: 'x', controller: true, uid }];
const meta = (uid: string, ownerUid: string, more: object = {}) => ({
  name: uid,
  namespace: 'default',
  uid,
  ownerReferences: owner(ownerUid),
  ...more,
});
const WEB: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', uid: 'web' } };

const setOf = (uid: string, revision: number, replicas: number): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: meta(uid, 'web', { annotations: { 'deployment.kubernetes.io/revision': String(revision) } }),
  spec: { replicas, selector: {}, template: { metadata: {}, spec: { containers: [] } } },
  status: { replicas },
});
const revisionOf = (uid: string, revision: number, labels: object = {}): ControllerRevision => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: meta(uid, 'web', { labels }),
  revision,
});
const podOf = (
  name: string,
  ownerUid: string,
  more: { readonly metadata?: object; readonly ready?: boolean } = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: meta(name, ownerUid, more.metadata),
  spec: { nodeName: 'node-1', containers: [] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: more.ready === true ? 'True' : 'False' }] },
});

test('the newest template comes first, each with the pods that were made of it and their states', () => {
  const pods = [
    podOf('old-1', 'old', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    podOf('new-10', 'new'),
    podOf('new-2', 'new', { ready: true }),
    podOf('of-another', 'else'),
  ];
  const found = revisionsOf({ workload: WEB, revisions: [setOf('old', 4, 1), setOf('new', 5, 2)], pods });
  assert.deepEqual(
    found.map(({ name, number, isNew, wanted, pods: own }) => [
      name,
      number,
      isNew,
      wanted,
      own.map((pod) => `${pod.name} ${pod.state}`).join(', '),
    ]),
    [
      ['new', 5, true, 2, 'new-2 ready, new-10 starting'],
      ['old', 4, false, 1, 'old-1 ending'],
    ],
  );
});

test('pods of a StatefulSet name their ControllerRevision, those of a DaemonSet its hash', () => {
  const label = (value: string) => ({ metadata: { labels: { 'controller-revision-hash': value } } });
  const revisions = [revisionOf('db-1', 1), revisionOf('agent-2', 2, { 'controller-revision-hash': 'hash' })];
  const pods = [podOf('a', 'web', label('db-1')), podOf('b', 'web', label('hash')), podOf('c', 'web')];
  const found = revisionsOf({ workload: WEB, revisions, pods });
  assert.deepEqual(
    found.map(({ name, pods: own }) => [name, own.map((pod) => pod.name)]),
    [
      ['agent-2', ['b']],
      ['db-1', ['a']],
    ],
  );
});

test('of old templates without pods only a few are shown, one that is wanted always', () => {
  const old = Array.from({ length: 9 }, (_, index) => setOf(`old-${index}`, index, index === 0 ? 1 : 0));
  const found = revisionsOf({ workload: WEB, revisions: [...old, setOf('new', 20, 0)], pods: [] });
  assert.deepEqual(
    found.map(({ name }) => name),
    ['new', 'old-8', 'old-7', 'old-6', 'old-0'],
  );
});
