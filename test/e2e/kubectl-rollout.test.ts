import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

const rolledOut = (name: string): Promise<string> => run('rollout', 'status', 'deployment', name, '--timeout=60s');
const deploy = async (name: string, replicas = 2): Promise<void> => {
  await run('create', 'deployment', name, '--image=busybox:1', `--replicas=${replicas}`, '--', 'sleep', '3600');
  await rolledOut(name);
};
const remove = (name: string): Promise<string> => run('delete', 'deployment', name, '--cascade=foreground');
const field = (name: string, jsonPath: string): Promise<string> =>
  run('get', 'deployment', name, '-o', `jsonpath=${jsonPath}`);
const IMAGE = '{.spec.template.spec.containers[0].image}';

test('set image starts a rollout, history lists revisions with their causes, undo rolls back', async () => {
  await deploy('web');
  assert.equal(await run('set', 'image', 'deploy/web', 'busybox=busybox:2'), 'deployment.apps/web image updated\n');
  await run('annotate', 'deploy', 'web', 'kubernetes.io/change-cause=second image');
  assert.match(await rolledOut('web'), /deployment "web" successfully rolled out\n$/);
  assert.equal(
    await run('rollout', 'history', 'deploy/web'),
    'deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         second image\n\n',
  );
  assert.match(
    await run('rollout', 'history', 'deploy/web', '--revision=1'),
    /with revision #1\n[\s\S]*Image:\tbusybox:1\n/,
  );
  assert.equal(await run('rollout', 'undo', 'deploy/web'), 'deployment.apps/web rolled back\n');
  await rolledOut('web');
  assert.equal(await field('web', IMAGE), 'busybox:1');
  assert.match(await run('rollout', 'history', 'deploy/web'), /REVISION {2}CHANGE-CAUSE\n2 +second image\n3 +\S/);
  assert.equal(await run('rollout', 'undo', 'deploy/web', '--to-revision=2'), 'deployment.apps/web rolled back\n');
  assert.equal(await field('web', IMAGE), 'busybox:2');
  const unknown = await attempt('rollout', 'undo', 'deploy/web', '--to-revision=99');
  assert.equal(unknown.stderr, 'error: unable to find specified revision 99 in history\n');
  await remove('web');
});

test('restart replaces every pod', async () => {
  await deploy('fresh');
  const uids = async (): Promise<readonly string[]> =>
    (await run('get', 'pods', '-l', 'app=fresh', '-o', 'jsonpath={.items[*].metadata.uid}')).split(' ');
  const before = await uids();
  assert.equal(await run('rollout', 'restart', 'deploy/fresh'), 'deployment.apps/fresh restarted\n');
  await rolledOut('fresh');
  const now = await waitFor('two pods', async () => {
    const seen = await uids();
    return seen.length === 2 && seen;
  });
  assert.deepEqual(
    now.filter((uid) => before.includes(uid)),
    [],
  );
  await remove('fresh');
});

test('a paused rollout does not proceed until it is resumed', async () => {
  await deploy('held');
  assert.equal(await run('rollout', 'pause', 'deploy/held'), 'deployment.apps/held paused\n');
  assert.equal(
    (await attempt('rollout', 'pause', 'deploy/held')).stderr,
    'error: deployments.apps "held" is already paused\n',
  );
  await run('set', 'image', 'deploy/held', 'busybox=busybox:2');
  await waitFor('the controller has seen it', async () => {
    const [generation, observed] = (await field('held', '{.metadata.generation} {.status.observedGeneration}')).split(
      ' ',
    );
    return generation === observed;
  });
  assert.equal((await run('get', 'rs', '-l', 'app=held', '-o', 'name')).trim().split('\n').length, 1);
  assert.equal(await run('rollout', 'resume', 'deploy/held'), 'deployment.apps/held resumed\n');
  await rolledOut('held');
  assert.equal((await run('get', 'rs', '-l', 'app=held', '-o', 'name')).trim().split('\n').length, 2);
  await remove('held');
});

test('set env, resources and serviceaccount change the template', async () => {
  await deploy('set', 0);
  assert.equal(await run('set', 'env', 'deploy/set', 'COLOR=blue'), 'deployment.apps/set env updated\n');
  assert.equal(await run('set', 'env', 'deploy/set', '--list'), '# Deployment set, container busybox\nCOLOR=blue\n');
  await run('set', 'env', 'deploy/set', 'COLOR-');
  assert.equal(await field('set', '{.spec.template.spec.containers[0].env}'), '');
  await run('set', 'resources', 'deploy/set', '--requests=cpu=10m,memory=8Mi', '--limits=memory=16Mi');
  assert.equal(
    await field('set', '{.spec.template.spec.containers[0].resources}'),
    '{"limits":{"memory":"16Mi"},"requests":{"cpu":"10m","memory":"8Mi"}}',
  );
  await run('set', 'serviceaccount', 'deploy/set', 'default');
  assert.equal(await field('set', '{.spec.template.spec.serviceAccountName}'), 'default');
  await remove('set');
});

test('scale sets the replicas, and only from the expected number', async () => {
  await deploy('grow', 1);
  assert.equal(await run('scale', 'deploy/grow', '--replicas=3'), 'deployment.apps/grow scaled\n');
  await run('wait', 'deploy/grow', '--for=jsonpath={.status.readyReplicas}=3', '--timeout=30s');
  const refused = await attempt('scale', 'deploy/grow', '--current-replicas=1', '--replicas=5');
  assert.equal(refused.stderr, 'error: Expected replicas to be 1, was 3\n');
  assert.equal(
    await run('scale', 'deploy/grow', '--current-replicas=3', '--replicas=0'),
    'deployment.apps/grow scaled\n',
  );
  await waitFor('no pod', async () => (await run('get', 'pods', '-l', 'app=grow', '-o', 'name')) === '');
  assert.match(await run('get', 'deploy', 'grow'), /^grow +0\/0 +0 +0 /m);
  await remove('grow');
});

test('a rollout whose pods never become ready is reported, and undo repairs it', async () => {
  await deploy('broken', 1);
  const impossible = {
    spec: {
      progressDeadlineSeconds: 1,
      template: { spec: { nodeSelector: { color: 'none' } } },
    },
  };
  await run('patch', 'deploy', 'broken', '-p', JSON.stringify(impossible));
  const failed = await attempt('rollout', 'status', 'deploy/broken', '--timeout=60s');
  assert.equal(failed.code, 1);
  assert.equal(failed.stderr, 'error: deployment "broken" exceeded its progress deadline\n');
  assert.match(await run('get', 'deploy', 'broken'), /^broken +1\/1 +1 +1 /m);
  await run('rollout', 'undo', 'deploy/broken');
  await rolledOut('broken');
  await remove('broken');
});

test('rollout status, history and undo support StatefulSets and DaemonSets', async () => {
  for (const kind of ['StatefulSet', 'DaemonSet']) {
    const name = kind.toLowerCase();
    await applySet(kind, name, 'busybox:1');
    assert.match(
      await run('rollout', 'status', `${name}/${name}`, '--timeout=60s'),
      /rolling update complete|successfully rolled out|roll out complete/,
    );
    await applySet(kind, name, 'busybox:2');
    await run('rollout', 'status', `${name}/${name}`, '--timeout=60s');
    assert.match(await run('rollout', 'history', `${name}/${name}`), /\n1 +<none>\n2 +<none>\n/);
    assert.equal(await run('rollout', 'undo', `${name}/${name}`), `${name}.apps/${name} rolled back\n`);
    assert.equal(await run('get', name, name, '-o', `jsonpath=${IMAGE}`), 'busybox:1');
    await run('delete', name, name, '--cascade=foreground');
  }
});

async function applySet(kind: string, name: string, image: string): Promise<void> {
  const manifest = {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: name } },
      ...(kind === 'StatefulSet' ? { serviceName: name, replicas: 1 } : {}),
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image, command: ['sleep', '3600'] }],
        },
      },
    },
  };
  await createKubectl(() => cluster.ready.kubeconfig).send(['apply'], manifest);
}
