import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import { containerName } from './pod-logs.ts';

const named = (...names: readonly string[]) => names.map((name) => ({ name, image: 'i', resources: {} }));
const podOf = (containers: readonly string[], initContainers: readonly string[] = []): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'myapp-pod', namespace: 'default', uid: 'u' },
  spec: { containers: named(...containers), initContainers: named(...initContainers) },
  status: {},
});

test('[EXP-10] each init container has its own log, by name; without a name the only container is meant', () => {
  const pod = podOf(['myapp-container'], ['init-myservice', 'init-mydb']);
  const chosen = (container?: string) =>
    containerName(pod, { podName: 'myapp-pod', ...(container === undefined ? {} : { container }) });
  for (const name of ['init-myservice', 'init-mydb', 'myapp-container']) assert.equal(chosen(name), name);
  assert.deepEqual([chosen(), chosen('')], ['myapp-container', 'myapp-container']);
  assert.throws(() => chosen('nobody'), /container nobody is not valid for pod myapp-pod/);
  assert.throws(
    () => containerName(podOf(['a', 'b'], ['init-myservice']), { podName: 'myapp-pod' }),
    /choose one of: \[a b\] or one of the init containers: \[init-myservice\]/,
  );
});
