import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerStatus, Pod, PodStatus } from '../../generated/types.ts';
import { podColumns } from './columns.ts';
import { container, created, NOW, pod } from './testing.ts';

const row = (object: Pod): Record<string, unknown> =>
  Object.fromEntries(podColumns.map((column) => [column.name, column.cell(object, { now: NOW })]));

const status = (changes: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'c',
  image: '',
  imageID: '',
  ready: true,
  restartCount: 0,
  state: { running: {} },
  lastState: {},
  ...changes,
});

function withStatus(changes: PodStatus, object: Pod = pod()): Pod {
  const made = created(object);
  made.status = { phase: 'Running', ...changes };
  return made;
}

test('a running pod shows its readiness and its node', () => {
  const object = withStatus({ containerStatuses: [status()], podIPs: [{ ip: '10.0.0.1' }] }, pod({ nodeName: 'n1' }));
  const cells = row(object);
  assert.deepEqual(
    [cells['Ready'], cells['Status'], cells['Restarts'], cells['IP'], cells['Node']],
    ['1/1', 'Running', '0', '10.0.0.1', 'n1'],
  );
});

test('the state of a container takes precedence over the phase', () => {
  const waiting = status({ ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } } });
  waiting.lastState = { terminated: { exitCode: 1, finishedAt: '2023-11-14T22:08:20Z' } };
  const cells = row(withStatus({ containerStatuses: [waiting] }));
  assert.deepEqual([cells['Ready'], cells['Status'], cells['Restarts']], ['0/1', 'CrashLoopBackOff', '3 (5m ago)']);
});

test('[EXP-08] running init containers are counted', () => {
  const object = pod({ initContainers: [container({ name: 'a' }), container({ name: 'b' })] });
  const initContainerStatuses = [status({ name: 'a', ready: false })];
  const cells = row(withStatus({ phase: 'Pending', initContainerStatuses }, object));
  assert.deepEqual([cells['Ready'], cells['Status'], cells['Restarts']], ['0/1', 'Init:0/2', '0']);
});

test('[EXP-08] [INIT-12] the state of the blocking init container is shown, then that the pod initializes', () => {
  const object = pod({ initContainers: [container({ name: 'a' }), container({ name: 'b' })] });
  const shown = (...states: ContainerStatus['state'][]): unknown => {
    const initContainerStatuses = states.map((state, i) => status({ name: 'ab'[i] ?? '', ready: false, state }));
    const main = status({ ready: false, state: { waiting: { reason: 'PodInitializing' } } });
    return row(withStatus({ phase: 'Pending', initContainerStatuses, containerStatuses: [main] }, object))['Status'];
  };
  const waiting = { waiting: { reason: 'PodInitializing' } };
  const done = { terminated: { exitCode: 0, reason: 'Completed' } };
  assert.equal(shown(waiting, waiting), 'Init:0/2');
  assert.equal(shown(done, { running: {} }), 'Init:1/2');
  assert.equal(shown({ terminated: { exitCode: 1, reason: 'Error' } }, waiting), 'Init:Error');
  assert.equal(shown({ waiting: { reason: 'CrashLoopBackOff' } }, waiting), 'Init:CrashLoopBackOff');
  assert.equal(shown(done, done), 'PodInitializing');
});

test('[SIDE-10] a sidecar counts among the containers, and among the ready ones when it is ready', () => {
  const object = pod({ initContainers: [container({ name: 's', restartPolicy: 'Always' })] });
  const cells = row(
    withStatus(
      { initContainerStatuses: [status({ name: 's', started: true })], containerStatuses: [status()] },
      object,
    ),
  );
  assert.equal(cells['Ready'], '2/2');
  const unready = [status({ name: 's', started: true, ready: false })];
  const half = row(withStatus({ initContainerStatuses: unready, containerStatuses: [status()] }, object));
  assert.equal(half['Ready'], '1/2');
});

test('[TERM-06] a gated pod, a terminating pod and a pod of a lost node show their state', () => {
  assert.equal(row(created(pod({ schedulingGates: [{ name: 'example.com/g' }] })))['Status'], 'SchedulingGated');
  const terminating = withStatus({ containerStatuses: [status()] });
  terminating.metadata.deletionTimestamp = '2023-11-14T22:13:20Z';
  assert.equal(row(terminating)['Status'], 'Terminating');
  terminating.status.reason = 'NodeLost';
  assert.equal(row(terminating)['Status'], 'Unknown');
});

test('[UI-04] a pod on a partitioned node shows NodeDown', () => {
  const conditions = [{ type: 'NodeDown', status: 'True' }];
  const object = withStatus({ containerStatuses: [status()], conditions });
  assert.equal(row(object)['Status'], 'NodeDown');
  object.metadata.deletionTimestamp = '2023-11-14T22:13:20Z';
  assert.equal(row(object)['Status'], 'NodeDown');
  object.status.phase = 'Succeeded';
  assert.notEqual(row(object)['Status'], 'NodeDown');
  const back = withStatus({ containerStatuses: [status()], conditions: [{ type: 'NodeDown', status: 'False' }] });
  assert.equal(row(back)['Status'], 'Running');
});

test('[UI-06] the nominated node is in the wide list', () => {
  const column = podColumns.find(({ name }) => name === 'Nominated Node');
  assert.equal(column?.priority, 1);
  assert.equal(column?.cell(withStatus({ nominatedNodeName: 'n2' }), { now: NOW }), 'n2');
});
