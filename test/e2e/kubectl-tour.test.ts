import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { kubectl, tryKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const run = (...args: string[]): Promise<string> => kubectl(cluster.ready.kubeconfig, args);
const apply = (manifest: object): Promise<string> =>
  kubectl(cluster.ready.kubeconfig, ['apply', '--validate=false', '-f', '-'], JSON.stringify(manifest));

before(async () => {
  cluster = await HoldfastProcess.start();
});
after(() => cluster[Symbol.asyncDispose]());

const runningPods = async (selector: string): Promise<number> =>
  (await run('get', 'pods', '-l', selector, '--no-headers')).split('\n').filter((line) => / 1\/1 +Running /.test(line))
    .length;

test('get ns and get nodes work as on any cluster', async () => {
  assert.match(await run('get', 'ns'), /^NAME +STATUS +AGE\ndefault +Active/m);
  const nodes = await waitFor('a Ready node', async () => {
    const table = await run('get', 'nodes');
    return / Ready /.test(table) && table;
  });
  assert.match(nodes, /^NAME +STATUS +ROLES +AGE +VERSION/);
});

test('create deployment, get pods -o wide, scale, delete', async () => {
  assert.match(
    await run('create', 'deployment', 'web', '--image=busybox', '--', 'sleep', '3600'),
    /deployment.apps\/web created/,
  );
  await waitFor('one running pod', async () => (await runningPods('app=web')) === 1);
  assert.match(
    await run('get', 'pods', '-o', 'wide'),
    /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\nweb-/,
  );
  assert.match(await run('scale', 'deployment', 'web', '--replicas=3'), /deployment.apps\/web scaled/);
  await waitFor('three running pods', async () => (await runningPods('app=web')) === 3);
  assert.match(await run('get', 'deployment', 'web'), /web +3\/3 +3 +3 /);
  assert.match(await run('delete', 'deployment', 'web'), /deployment.apps "web" deleted/);
  await waitFor('no pod is left', async () => (await run('get', 'pods', '--no-headers', '-l', 'app=web')) === '');
});

test('apply creates, then patches only the differences', async () => {
  const manifest = (payload: string): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'default' },
    data: { payload },
  });
  assert.match(await apply(manifest('one')), /configmap\/settings created/);
  assert.match(await apply(manifest('one')), /configmap\/settings unchanged/);
  assert.match(await apply(manifest('two')), /configmap\/settings configured/);
  assert.equal(await run('get', 'cm', 'settings', '-o', 'jsonpath={.data.payload}'), 'two');
  await run('delete', 'cm', 'settings');
});

test('[SAFE-22] a StatefulSet names its pods in order, and a deleted one is recreated under its name with another uid', async () => {
  await apply({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'c', image: 'busybox', command: ['sleep', '3600'] }],
        },
      },
    },
  });
  await waitFor('db-0 and db-1 run', async () => (await runningPods('app=db')) === 2);
  const uid = (): Promise<string> => run('get', 'pod', 'db-0', '-o', 'jsonpath={.metadata.uid}');
  const before = await uid();
  await run('delete', 'pod', 'db-0');
  await waitFor('db-0 is another pod', async () => (await uid()) !== before);
  await waitFor('both run again', async () => (await runningPods('app=db')) === 2);
  await run('delete', 'statefulset', 'db');
  await waitFor('no pod is left', async () => (await run('get', 'pods', '--no-headers', '-l', 'app=db')) === '');
});

for (const { kind, apiVersion, resource, selector } of [
  {
    kind: 'ReplicaSet',
    apiVersion: 'apps/v1',
    resource: 'replicaset.apps',
    selector: { matchLabels: { app: 'many' } },
  },
  {
    kind: 'ReplicationController',
    apiVersion: 'v1',
    resource: 'replicationcontroller',
    selector: { app: 'many' },
  },
]) {
  test(`a ${kind} keeps its replicas, is scaled and exposed, and orphans its pods to its successor on request`, async () => {
    const template = {
      metadata: { labels: { app: 'many' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'busybox', command: ['sleep', '3600'] }],
      },
    };
    const many = (replicas: number): object => ({
      apiVersion,
      kind,
      metadata: { name: 'many', namespace: 'default' },
      spec: { replicas, selector, template },
    });
    const uids = async (): Promise<readonly string[]> =>
      (await run('get', 'pods', '-l', 'app=many', '-o', 'jsonpath={.items[*].metadata.uid}')).split(' ').toSorted();
    await apply(many(2));
    await waitFor('two running pods', async () => (await runningPods('app=many')) === 2);
    const [lost] = (await run('get', 'pods', '-l', 'app=many', '-o', 'name')).split('\n');
    await run('delete', lost ?? '');
    await waitFor('two running pods again', async () => (await runningPods('app=many')) === 2);
    assert.match(await run('scale', resource, 'many', '--replicas=3'), /\/many scaled/);
    await waitFor('three running pods', async () => (await runningPods('app=many')) === 3);
    assert.match(await run('get', resource, 'many'), /many +3 +3 +3 /);
    assert.match(await run('expose', resource, 'many', '--port=80'), /service\/many exposed/);
    assert.match(await run('describe', resource, 'many'), /3 Running \/ 0 Waiting \/ 0 Succeeded \/ 0 Failed/);
    const before = await uids();
    await run('delete', resource, 'many', '--cascade=orphan');
    assert.deepEqual(await uids(), before);
    await apply(many(3));
    await waitFor('the pods are adopted', async () => / 3 +3 +3 /.test(await run('get', resource, 'many')));
    assert.deepEqual(await uids(), before);
    await run('delete', 'service', 'many');
    await run('delete', resource, 'many');
    await waitFor('no pod is left', async () => (await run('get', 'pods', '--no-headers', '-l', 'app=many')) === '');
  });
}

test('an absent object gives a NotFound error', async () => {
  const missing = await tryKubectl(cluster.ready.kubeconfig, ['get', 'pod', 'nobody']);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /Error from server \(NotFound\): pods "nobody" not found/);
});

test('a namespace is deleted with everything in it', async () => {
  await run('create', 'namespace', 'short-lived');
  await run('create', 'deployment', 'web', '--image=busybox', '-n', 'short-lived', '--', 'sleep', '3600');
  await waitFor('a pod', async () => (await run('get', 'pods', '-n', 'short-lived', '--no-headers')) !== '');
  await run('delete', 'namespace', 'short-lived', '--wait=false');
  await waitFor('the namespace is gone', async () => !(await run('get', 'ns')).includes('short-lived'), 60_000);
});
