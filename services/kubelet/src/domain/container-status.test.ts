import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import type { ContainerStatus as ContainerRecord, SandboxStatus } from '../runtime/port.ts';
import { containerStatus } from './container-status.ts';
import { INITIAL_MEMORY, type StartFailure } from './pod-worker-types.ts';

const main: Container = { name: 'main', image: 'app:1', resources: {} };
const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u1' },
  spec: { containers: [main], nodeName: 'n1' },
  status: { phase: 'Pending' },
};

test('[LIFE-16] a container that has not started waits, with reason and message', () => {
  const stateWith = (failure: Pick<StartFailure, 'reason' | 'message'> | undefined) => {
    const failures = failure === undefined ? {} : { main: { retryAt: 0, ...failure } };
    const memory = { ...INITIAL_MEMORY, failures };
    return containerStatus(main, { pod, sandboxes: [], memory, now: 0, runtimeName: 'x', stage: 'active' }).state;
  };
  assert.deepEqual(stateWith(undefined), { waiting: { reason: 'ContainerCreating' } });
  for (const reason of ['ErrImagePull', 'ErrImageNeverPull', 'CreateContainerConfigError', 'RunContainerError']) {
    assert.deepEqual(stateWith({ reason, message: 'it failed' }), { waiting: { message: 'it failed', reason } });
  }
  assert.deepEqual(stateWith({ reason: 'ContainerCreating', message: '' }), {
    waiting: { reason: 'ContainerCreating' },
  });
});

test('[LIFE-18] a terminated container has its start and end time, its exit code and its reason', () => {
  const stateOf = (exitCode: number, change: Partial<ContainerRecord> = {}) => {
    const config = { name: 'main', image: 'app:1', restartCount: 0 };
    const times = { createdAt: 1_000, startedAt: 2_000, finishedAt: 5_000 };
    const ended: ContainerRecord = { id: 'c1', config, state: 'exited', exitCode, ...times, ...change };
    const sandbox: SandboxStatus = {
      id: 's1',
      config: { podUid: 'u1', podName: 'p', podNamespace: 'default', hostname: 'p', attempt: 0 },
      state: 'ready',
      createdAt: 0,
      ip: '10.0.0.1',
      containers: [ended],
    };
    const never = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } };
    const at = { sandboxes: [sandbox], memory: INITIAL_MEMORY, now: 9_000, runtimeName: 'x', stage: 'active' } as const;
    return containerStatus(main, { pod: never, ...at }).state.terminated;
  };
  const times = { startedAt: '1970-01-01T00:00:02Z', finishedAt: '1970-01-01T00:00:05Z', containerID: 'x://c1' };
  assert.deepEqual(stateOf(0), { exitCode: 0, reason: 'Completed', ...times });
  assert.deepEqual(stateOf(3), { exitCode: 3, reason: 'Error', ...times });
  const killed = stateOf(137, { reason: 'OOMKilled', message: 'too much memory' });
  assert.deepEqual(killed, { exitCode: 137, reason: 'OOMKilled', message: 'too much memory', ...times });
});
