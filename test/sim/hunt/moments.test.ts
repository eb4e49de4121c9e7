import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Moments } from './moments.ts';
import type { Step } from './plan.ts';

const step = (when: Step['when'] & string, target: string): Step => ({ at: 0, do: 'kubelet-down', target, when });
const fact = { namespace: 'default', podName: 'db-1', podUid: 'one', container: 'main', node: 'node-1' };

/** Which of these steps come when a pod `db-1` on node-1 is bound, is being deleted, and is removed, and its process starts. */
function whichCome(...steps: readonly Step[]): readonly Step[] {
  const moments = new Moments();
  const came: Step[] = [];
  for (const each of steps) moments.arm(each, () => came.push(each));
  const pod = (kind: 'update' | 'delete', metadata: object, spec: object): void => {
    const value = JSON.stringify({ metadata: { name: 'db-1', labels: { app: 'db' }, ...metadata }, spec });
    moments.committed({ revision: 1, operation: { kind, key: 'core/pods/default/db-1', value, expectedRevision: 1 } });
  };
  pod('update', {}, {});
  pod('update', {}, { nodeName: 'node-1' });
  moments.process({ kind: 'started', ...fact });
  pod('update', { deletionTimestamp: 'now' }, { nodeName: 'node-1' });
  pod('delete', { deletionTimestamp: 'now' }, { nodeName: 'node-1' });
  return came;
}

test('a step that waits for a moment comes when it happens to its target, once', () => {
  const come = [
    step('pod-created', 'db'),
    step('pod-bound', 'node-1'),
    step('pod-started', '@node-1'),
    step('pod-deleting', 'db-1'),
    step('pod-removed', 'controller-manager'),
  ];
  const wait = [
    step('pod-bound', 'node-2'),
    step('pod-deleting', 'db-2'),
    step('pod-started', 'web'),
    step('node-lost', ''),
  ];
  assert.deepEqual(whichCome(...wait, ...come), come);
  const moments = new Moments();
  let count = 0;
  moments.arm(step('pod-started', 'node-1'), () => count++);
  for (let i = 0; i < 2; i++) moments.process({ kind: 'started', ...fact });
  assert.equal(count, 1);
});

test('nodes that become ready or are lost, leaders and volumes are moments too; a disarmed step waits no more', () => {
  const moments = new Moments();
  const came: string[] = [];
  const put = (key: string, object: object): void =>
    moments.committed({ revision: 1, operation: { kind: 'create', key, value: JSON.stringify(object) } });
  const node = (status: string) => put('core/nodes/-/node-1', { status: { conditions: [{ type: 'Ready', status }] } });
  const arm = (): void => {
    for (const when of ['node-ready', 'node-lost', 'leader-changed', 'volume-moved'] as const)
      moments.arm(step(when, 'node-1'), () => came.push(when));
  };
  arm();
  node('True');
  node('Unknown');
  put('coordination.k8s.io/leases/kube-system/kube-scheduler', { spec: { holderIdentity: 'a' } });
  put('core/persistentvolumes/-/disk', { status: { attachment: { nodeName: 'node-1' } } });
  assert.deepEqual(came, ['node-ready', 'node-lost', 'leader-changed', 'volume-moved']);
  arm();
  moments.disarm();
  node('True');
  assert.equal(came.length, 4);
});

test('a process that starts again is a moment for users, and for its own node', () => {
  const moments = new Moments();
  const came: string[] = [];
  for (const target of ['', 'db', 'node-1', '@node-2', 'apiserver'])
    moments.arm(step('process-started', target), () => came.push(target));
  moments.started('node-1');
  assert.deepEqual(came, ['', 'db', 'node-1', 'apiserver']);
  moments.started('apiserver');
  assert.deepEqual(came.slice(4), ['@node-2']);
});
