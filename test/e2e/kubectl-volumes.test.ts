import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { kubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const run = (...args: string[]): Promise<string> => kubectl(cluster.ready.kubeconfig, args);
const apply = (manifest: object): Promise<string> =>
  kubectl(cluster.ready.kubeconfig, ['apply', '-f', '-'], JSON.stringify(manifest));

before(async () => {
  cluster = await HoldfastProcess.start();
});
after(() => cluster[Symbol.asyncDispose]());

const pod = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...spec },
});

const phase = (name: string): Promise<string> => run('get', 'pod', name, '-o', 'jsonpath={.status.phase}');

test('[LIFE-16] a pod waits for its ConfigMap, reports it, and starts when it exists', async () => {
  await apply(
    pod('waiter', {
      containers: [
        {
          name: 'c',
          image: 'busybox',
          command: ['/bin/sh', '-c', 'test "$(cat /config/greeting)" = hello && test ! -w /config/greeting/x'],
          volumeMounts: [{ name: 'config', mountPath: '/config' }],
        },
      ],
      volumes: [{ name: 'config', configMap: { name: 'late' } }],
    }),
  );
  await waitFor('the event', async () => /FailedMount.*configmap "late" not found/.test(await run('get', 'events')));
  assert.match(await run('get', 'pod', 'waiter'), / 0\/1 +ContainerCreating /);
  await run('create', 'configmap', 'late', '--from-literal=greeting=hello');
  await waitFor('it ran', async () => (await phase('waiter')) === 'Succeeded');
});

test('[EXP-07] an init container writes data that the next one reads, and every pod has a token of its account', async () => {
  const volumeMounts = [{ name: 'work', mountPath: '/work-of-this-test' }];
  const account = '/var/run/secrets/kubernetes.io/serviceaccount';
  const check = `test "$(cat /work-of-this-test/a)" = made && test -s ${account}/token && grep -q BEGIN ${account}/ca.crt && test "$(cat ${account}/namespace)" = default`;
  await apply(
    pod('passes', {
      initContainers: [
        { name: 'i', image: 'busybox', command: ['/bin/sh', '-c', 'echo made > /work-of-this-test/a'], volumeMounts },
      ],
      containers: [{ name: 'c', image: 'busybox', command: ['/bin/sh', '-c', check], volumeMounts }],
      volumes: [{ name: 'work', emptyDir: {} }],
    }),
  );
  await waitFor('it ran', async () => (await phase('passes')) === 'Succeeded');
});

test('[LIFE-16] unsupported features of this node are reported, not ignored', async () => {
  const containers = [{ name: 'c', image: 'busybox', command: ['sleep', '600'] }];
  const volumeMounts = [{ name: 'share', mountPath: '/share' }];
  await apply(
    pod('remote', {
      containers: containers.map((each) => ({ ...each, volumeMounts })),
      volumes: [{ name: 'share', iscsi: { targetPortal: '127.0.0.1:1', iqn: 'iqn.2026-01.example:disk', lun: 0 } }],
    }),
  );
  await waitFor('the refusal', async () => /FailedMount.*no support for iscsi/.test(await run('get', 'events')));
  await apply(pod('no-command', { containers: [{ name: 'c', image: 'nginx:1.27' }] }));
  await waitFor('the reason', async () => / CreateContainerError /.test(await run('get', 'pod', 'no-command')));
  await run('delete', 'pod', 'remote', 'no-command', '--wait=false');
});
