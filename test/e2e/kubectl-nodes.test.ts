import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send, follow } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory', '--nodes', '2']);
  await run('wait', 'nodes', '--all', '--for=condition=Ready', '--timeout=30s');
});
after(() => cluster[Symbol.asyncDispose]());

const deploy = async (name: string, replicas: number): Promise<void> => {
  await run('create', 'deployment', name, '--image=busybox', `--replicas=${replicas}`, '--', 'sleep', '3600');
  await run('rollout', 'status', 'deployment', name, '--timeout=60s');
};
const nodesOf = async (app: string): Promise<readonly string[]> =>
  (await run('get', 'pods', '-l', `app=${app}`, '-o', 'jsonpath={.items[*].spec.nodeName}')).split(' ').filter(Boolean);

test('get nodes shows the state, -o wide the machine', async () => {
  assert.match(
    await run('get', 'nodes'),
    /^NAME +STATUS +ROLES +AGE +VERSION\nnode-1 +Ready +<none> +\S+ +v1\.32\.\d+\nnode-2 +Ready /,
  );
  assert.match(
    await run('get', 'nodes', '-o', 'wide'),
    / +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION +CONTAINER-RUNTIME\n/,
  );
  await run('label', 'node', 'node-1', 'node-role.kubernetes.io/worker=');
  assert.match(await run('get', 'node', 'node-1'), /^node-1 +Ready +worker /m);
});

test('describe node shows conditions, capacity, system and the pods with their requests', async () => {
  await run('create', 'deployment', 'counted', '--image=busybox', '--replicas=0', '--', 'sleep', '3600');
  await run('set', 'resources', 'deploy/counted', '--requests=cpu=50m,memory=8Mi');
  await run('scale', 'deploy/counted', '--replicas=1');
  await run('rollout', 'status', 'deployment', 'counted', '--timeout=60s');
  const [node = ''] = await nodesOf('counted');
  const text = await run('describe', 'node', node);
  assert.match(text, /Conditions:\n[\s\S]* +Ready +True +.*KubeletReady +kubelet is posting ready status\n/);
  assert.match(text, /Capacity:\n {2}cpu: +\d+\n/);
  assert.match(text, /Kubelet Version: +v1\.32\./);
  assert.match(
    text,
    /Non-terminated Pods: +\(1 in total\)\n[\s\S]* {2}default +counted-\S+ +50m \(\d+%\) +0 \(0%\) +8Mi \(\d+%\) +0 \(0%\)/,
  );
  await run('delete', 'deployment', 'counted', '--cascade=foreground');
});

test('cordon blocks new pods until uncordon', async () => {
  assert.equal(await run('cordon', 'node-1'), 'node/node-1 cordoned\n');
  assert.match(await run('get', 'node', 'node-1'), /^node-1 +Ready,SchedulingDisabled /m);
  await deploy('elsewhere', 3);
  assert.deepEqual(await nodesOf('elsewhere'), ['node-2', 'node-2', 'node-2']);
  assert.equal(await run('uncordon', 'node-1'), 'node/node-1 uncordoned\n');
  await run('delete', 'deployment', 'elsewhere', '--cascade=foreground');
});

test('drain moves the pods to the other node by eviction', async () => {
  await run('cordon', 'node-1');
  await deploy('moving', 2);
  await run('uncordon', 'node-1');
  const drained = await run('drain', 'node-2', '--timeout=60s');
  assert.match(drained, /^node\/node-2 cordoned\n/);
  assert.equal(drained.match(/^pod\/moving-\S+ evicted$/gm)?.length, 2);
  assert.match(drained, /node\/node-2 drained\n$/);
  await run('rollout', 'status', 'deployment', 'moving', '--timeout=60s');
  assert.deepEqual(await nodesOf('moving'), ['node-1', 'node-1']);
  await run('uncordon', 'node-2');
  await run('delete', 'deployment', 'moving', '--cascade=foreground');
});

test('drain refuses a pod without a controller, and --force deletes it', async () => {
  const spec = { nodeSelector: { 'kubernetes.io/hostname': 'node-2' } };
  const overrides = JSON.stringify({ spec });
  await run('run', 'alone', '--image=busybox', `--overrides=${overrides}`, '--command', '--', 'sleep', '3600');
  await run('wait', 'pod/alone', '--for=condition=Ready', '--timeout=30s');
  const refused = await attempt('drain', 'node-2', '--timeout=20s');
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /cannot delete Pods that declare no controller \(use --force to override\): default\/alone/,
  );
  const forced = await attempt('drain', 'node-2', '--force', '--grace-period=1', '--timeout=30s');
  assert.match(forced.stdout, /^pod\/alone evicted$/m);
  assert.match(forced.stderr, /Warning: deleting Pods that declare no controller: default\/alone/);
  await run('uncordon', 'node-2');
});

test('drain waits while a disruption budget allows no eviction', async () => {
  await run('cordon', 'node-1');
  await deploy('guarded', 1);
  await run('uncordon', 'node-1');
  const budget = { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } };
  const metadata = { name: 'guarded', namespace: 'default' };
  await send(['create'], { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: budget });
  // The status of the disruption controller; the eviction only reads it.
  const status = {
    observedGeneration: 1,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    disruptionsAllowed: 0,
  };
  await run('patch', 'pdb', 'guarded', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
  await using drain = follow('drain', 'node-2', '--timeout=60s');
  await waitFor('the budget holds it', () =>
    /error when evicting pods\/"guarded-\S+" -n "default" \(will retry after 5s\): Cannot evict pod as it would violate the pod's disruption budget\./.test(
      drain.printed,
    ),
  );
  await run('delete', 'pdb', 'guarded');
  await waitFor('drained', () => drain.printed.includes('node/node-2 drained'));
  await run('uncordon', 'node-2');
  await run('delete', 'deployment', 'guarded', '--cascade=foreground');
});

test('a taint blocks new pods, NoExecute evicts them, and the trailing minus removes it', async () => {
  await run('cordon', 'node-1');
  await deploy('tainted', 1);
  await run('uncordon', 'node-1');
  assert.equal(await run('taint', 'node', 'node-2', 'why=test:NoExecute'), 'node/node-2 tainted\n');
  await waitFor('it runs on the other node', async () => (await nodesOf('tainted')).join() === 'node-1');
  await run('rollout', 'status', 'deployment', 'tainted', '--timeout=60s');
  const again = await attempt('taint', 'node', 'node-2', 'why=again:NoExecute');
  assert.match(
    again.stderr,
    /error: node node-2 already has why taint\(s\) with same effect\(s\) and --overwrite is false/,
  );
  assert.equal(await run('taint', 'node', 'node-2', 'why:NoExecute-'), 'node/node-2 untainted\n');
  await run('delete', 'deployment', 'tainted', '--cascade=foreground');
});
