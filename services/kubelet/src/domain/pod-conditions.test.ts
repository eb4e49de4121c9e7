import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodCondition } from '@holdfast/api';
import type { SandboxStatus } from '../runtime/port.ts';
import { podConditions } from './pod-conditions.ts';
import { INITIAL_MEMORY } from './pod-worker-types.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'main', resources: {} }], nodeName: 'n1' },
  status: { phase: 'Pending' },
};

const sandboxIn = (state: SandboxStatus['state'], attempt = 0): SandboxStatus => ({
  id: `s${attempt}`,
  config: { podUid: 'u1', podName: 'p', podNamespace: 'default', hostname: 'p', attempt },
  state,
  createdAt: 0,
  ip: '10.0.0.1',
  containers: [],
});

test('[LIFE-33] [LIFE-34] containers start only in a ready sandbox: not before it, and not after it was stopped', () => {
  const statusWith = (...sandboxes: readonly SandboxStatus[]): PodCondition['status'] | undefined => {
    const context = { pod, sandboxes, memory: INITIAL_MEMORY, now: 0, runtimeName: 'x', stage: 'active' } as const;
    const conditions = podConditions(context, { phase: 'Pending', containers: [], initContainers: [] });
    return conditions.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
  };
  assert.equal(statusWith(), 'False');
  assert.equal(statusWith(sandboxIn('ready')), 'True');
  assert.equal(statusWith(sandboxIn('notReady')), 'False');
  assert.equal(statusWith(sandboxIn('notReady'), sandboxIn('ready', 1)), 'True');
  assert.equal(statusWith(sandboxIn('ready'), sandboxIn('notReady', 1)), 'False');
});
