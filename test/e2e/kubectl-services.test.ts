import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory', '--nodes', '0', '--hollow-nodes', '2']);
  await run('wait', 'nodes', '--all', '--for=condition=Ready', '--timeout=30s');
});
after(() => cluster[Symbol.asyncDispose]());

const addressesOf = async (service: string): Promise<readonly string[]> =>
  (await run('get', 'endpoints', service, '-o', 'jsonpath={.subsets[*].addresses[*].ip}')).split(' ').filter(Boolean);
const slicesOf = async (service: string): Promise<readonly string[]> =>
  (
    await run(
      'get',
      'endpointslices',
      '-l',
      `kubernetes.io/service-name=${service}`,
      '-o',
      'jsonpath={.items[*].endpoints[*].addresses[0]}',
    )
  )
    .split(' ')
    .filter(Boolean);
const podIps = async (app: string): Promise<readonly string[]> =>
  (await run('get', 'pods', '-l', `app=${app}`, '-o', 'jsonpath={.items[*].status.podIP}')).split(' ').filter(Boolean);
const sorted = (texts: readonly string[]): readonly string[] => [...texts].sort();

test('expose creates a service whose endpoints and slices follow the pods', async () => {
  await run('create', 'deployment', 'web', '--image=nginx', '--replicas=3', '--port=8080');
  await run('rollout', 'status', 'deployment', 'web', '--timeout=60s');
  assert.equal(await run('expose', 'deployment', 'web', '--port=80', '--target-port=8080'), 'service/web exposed\n');
  await waitFor('three endpoints', async () => (await addressesOf('web')).length === 3);
  await waitFor('three in slices', async () => (await slicesOf('web')).length === 3);
  const ips = sorted(await podIps('web'));
  assert.deepEqual(sorted(await addressesOf('web')), ips);
  assert.deepEqual(sorted(await slicesOf('web')), ips);
  assert.match(await run('get', 'endpoints', 'web'), /^web +\S+:8080,\S+:8080,\S+:8080 /m);
  assert.match(await run('describe', 'service', 'web'), /Endpoints: +\S+:8080,\S+:8080,\S+:8080/);
  await run('scale', 'deployment', 'web', '--replicas=1');
  await waitFor('one is left', async () => (await addressesOf('web')).length === 1);
  await waitFor('one in slices', async () => (await slicesOf('web')).length === 1);
  await run('delete', 'service', 'web');
  await waitFor('nothing is left', async () => {
    const left = await run('get', 'endpoints,endpointslices', '-l', 'app=web', '-o', 'name');
    return left === '';
  });
});

test('Endpoints of a service without a selector are mirrored into a slice, and deleted with it', async () => {
  const metadata = { name: 'outside' };
  const ports = [{ port: 5432 }];
  await send(
    ['create'],
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
    { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: [{ addresses: [{ ip: '192.0.2.7' }], ports }] },
  );
  await waitFor('a mirror', async () => (await slicesOf('outside')).join() === '192.0.2.7');
  const manager = 'jsonpath={.items[0].metadata.labels.endpointslice\\.kubernetes\\.io/managed-by}';
  assert.equal(
    await run('get', 'endpointslices', '-l', 'kubernetes.io/service-name=outside', '-o', manager),
    'endpointslicemirroring-controller.k8s.io',
  );
  const subsets = [{ addresses: [{ ip: '192.0.2.8' }], ports }];
  await run('patch', 'endpoints', 'outside', '--type=merge', '-p', JSON.stringify({ subsets }));
  await waitFor('the mirror follows', async () => (await slicesOf('outside')).join() === '192.0.2.8');
  await run('delete', 'service', 'outside');
  await waitFor('the mirror is gone', async () => (await slicesOf('outside')).length === 0);
});
