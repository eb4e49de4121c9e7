import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
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

test('[LIFE-16] a container that has not started waits, with the reason why and what was told of it', () => {
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
