import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease, Node, Pod } from '../../generated/types.ts';
import { isExclusive, isUnique, SELF_FENCING } from '../../semantics/exclusive.ts';
import {
  isCovered,
  isReleasedFrom,
  promiseOf,
  SELF_FENCED,
  SELF_FENCED_REASONS,
  SELF_FENCING_BROKEN,
  SELF_FENCING_HOLDER,
} from './promise.ts';

const lease = (annotations: Record<string, string>, leaseDurationSeconds?: number): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'n', namespace: 'kube-node-lease', annotations },
  spec: leaseDurationSeconds === undefined ? {} : { leaseDurationSeconds },
});

const pod = (change: { metadata?: Pod['metadata']; spec?: Partial<Pod['spec']> }): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: change.metadata ?? {},
  spec: { containers: [], ...change.spec },
  status: {},
});

test('only the policy and the duration of a lease state a promise', () => {
  assert.equal(promiseOf(undefined), undefined);
  assert.equal(promiseOf(lease({}, 40)), undefined);
  assert.equal(promiseOf(lease({ [SELF_FENCING]: 'constructor' }, 8)), undefined);
  assert.equal(promiseOf(lease({ [SELF_FENCING]: 'exclusive' })), undefined);
  assert.deepEqual(promiseOf(lease({ [SELF_FENCING]: 'exclusive', [SELF_FENCING_HOLDER]: 'm/b' }, 8)), {
    policy: 'exclusive',
    holder: 'm/b',
    durationMs: 8000,
    isBroken: false,
  });
  assert.equal(promiseOf(lease({ [SELF_FENCING]: 'all', [SELF_FENCING_BROKEN]: 'x' }, 8))?.isBroken, true);
});

test('exclusive pods are pods with a stable identity and pods that use a claim', () => {
  const metadata = { name: 'db-0' };
  assert.ok(isExclusive(pod({ metadata, spec: { hostname: 'db-0' } })));
  assert.ok(!isExclusive(pod({ metadata, spec: { hostname: 'db-1' } })));
  assert.ok(!isExclusive(pod({ metadata })));
  assert.ok(!isExclusive(pod({})));
  assert.ok(isExclusive(pod({ spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] } })));
  assert.ok(isExclusive(pod({ spec: { volumes: [{ name: 'v', ephemeral: {} }] } })));
  assert.ok(!isExclusive(pod({ spec: { volumes: [{ name: 'v', emptyDir: {} }] } })));
});

test('a pod without a claim may exclude itself from the promise, and is unique all the same', () => {
  const metadata = { name: 'db-0', annotations: { [SELF_FENCING]: 'off' } };
  const excluded = pod({ metadata, spec: { hostname: 'db-0' } });
  assert.deepEqual([isExclusive(excluded), isUnique(excluded)], [false, true]);
  assert.ok(!isCovered('exclusive', excluded));
  assert.ok(isCovered('all', excluded), 'a node that ends every pod ends this one');
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
  assert.ok(isExclusive(pod({ metadata, spec: { hostname: 'db-0', volumes } })));
});

test('the policy for all covers every pod except static pods', () => {
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
  assert.ok(isCovered('all', pod({})));
  assert.ok(!isCovered('exclusive', pod({})));
  assert.ok(!isCovered('all', pod({ metadata: mirror })));
});

test('a node whose promise expired names in its reason the pods that cannot run there until it promises again', () => {
  const node = (status: string, reason: string) =>
    ({ status: { conditions: [{ type: SELF_FENCED, status, reason }] } }) as unknown as Node;
  const named = pod({ metadata: { name: 'db-0' }, spec: { hostname: 'db-0' } });
  const other = pod({ metadata: { name: 'web' } });
  const both = (status: string, reason: string) =>
    [named, other].map((each) => isReleasedFrom(node(status, reason), each));
  assert.deepEqual(both('True', SELF_FENCED_REASONS.exclusive), [true, false]);
  assert.deepEqual(both('True', SELF_FENCED_REASONS.all), [true, true]);
  assert.deepEqual(both('False', 'PromiseRenewed'), [false, false]);
});
