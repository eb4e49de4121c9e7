import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease, Node, Pod } from '../../generated/types.ts';
import {
  isCovered,
  isExclusive,
  isReleasedFrom,
  promiseOf,
  SELF_FENCED,
  SELF_FENCED_REASONS,
  SELF_FENCING,
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

test('a lease states a promise by its policy and its duration, and nothing else does', () => {
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

test('exclusive are pods whose name is their identity, and pods that use a claim', () => {
  const metadata = { name: 'db-0' };
  assert.ok(isExclusive(pod({ metadata, spec: { hostname: 'db-0' } })));
  assert.ok(!isExclusive(pod({ metadata, spec: { hostname: 'db-1' } })));
  assert.ok(!isExclusive(pod({ metadata })));
  assert.ok(!isExclusive(pod({})));
  assert.ok(isExclusive(pod({ spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] } })));
  assert.ok(isExclusive(pod({ spec: { volumes: [{ name: 'v', ephemeral: {} }] } })));
  assert.ok(!isExclusive(pod({ spec: { volumes: [{ name: 'v', emptyDir: {} }] } })));
});

test('a policy for all covers every pod but those of the machine itself', () => {
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
  assert.ok(isCovered('all', pod({})));
  assert.ok(!isCovered('exclusive', pod({})));
  assert.ok(!isCovered('all', pod({ metadata: mirror })));
});

test('a node that was waited out says by the reason which pods cannot run there before it promises again', () => {
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
