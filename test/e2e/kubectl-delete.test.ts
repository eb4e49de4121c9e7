import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, follow } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

const runPod = async (name: string, ...flags: readonly string[]): Promise<void> => {
  await run('run', name, '--image=busybox', '--restart=Never', ...flags, '--command', '--', 'sleep', '3600');
  await run('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=30s');
};
const deploy = async (name: string): Promise<void> => {
  await run('create', 'deployment', name, '--image=busybox', '--replicas=2', '--', 'sleep', '3600');
  await run('rollout', 'status', 'deployment', name, '--timeout=60s');
};
const names = (what: string, selector: string): Promise<string> => run('get', what, '-l', selector, '-o', 'name');

test('delete waits until the pod is gone, and honours --grace-period', async () => {
  await runPod('patient');
  assert.equal(await run('delete', 'pod', 'patient', '--grace-period=1'), 'pod "patient" deleted\n');
  assert.equal((await attempt('get', 'pod', 'patient')).code, 1);
});

test('delete --wait=false returns while the pod is Terminating, with its grace period recorded', async () => {
  // A shell that ignores SIGTERM holds the pod long enough to be seen.
  const script = 'trap "" TERM; echo deaf; while true; do sleep 1; done';
  await run('run', 'stubborn', '--image=busybox', '--restart=Never', '--command', '--', 'sh', '-c', script);
  await waitFor('it ignores signals', async () => (await run('logs', 'stubborn')) === 'deaf\n');
  await run('delete', 'pod', 'stubborn', '--wait=false', '--grace-period=20');
  assert.match(await run('get', 'pod', 'stubborn'), /^stubborn +1\/1 +Terminating /m);
  assert.equal(await run('get', 'pod', 'stubborn', '-o', 'jsonpath={.metadata.deletionGracePeriodSeconds}'), '20');
  const shortened = await attempt('delete', 'pod', 'stubborn', '--grace-period=1');
  assert.equal(shortened.code, 0, shortened.stderr);
});

test('[SAFE-35] delete --force warns in the words of the documentation that the end is unconfirmed, and removes the object at once', async () => {
  await runPod('forced');
  const forced = await attempt('delete', 'pod', 'forced', '--force', '--grace-period=0');
  assert.equal(forced.stdout, 'pod "forced" force deleted\n');
  const [general, specific] = forced.stderr.trimEnd().split('\n').toSorted();
  assert.match(general ?? '', /^Warning: Immediate deletion does not wait for confirmation /);
  const page = readFileSync(new URL('../../docs/pod-lifecycle.md', import.meta.url), 'utf8');
  const quoted = page.split('\n').filter((line) => line.startsWith('> '));
  const documented = quoted.map((line) => line.slice(2)).join(' ');
  assert.equal(specific, `Warning: ${documented.replace('NAME', 'forced').replace('NODE', 'node-1')}`);
  assert.equal((await attempt('get', 'pod', 'forced')).code, 1);
});

test('delete --now, by label, by several names and --all', async () => {
  for (const name of ['one', 'two', 'three', 'four']) await run('create', 'configmap', name);
  await run('label', 'cm', 'one', 'two', 'pick=me');
  assert.equal(await run('delete', 'cm', '-l', 'pick=me'), 'configmap "one" deleted\nconfigmap "two" deleted\n');
  assert.equal(await run('delete', 'cm/three', 'cm/four'), 'configmap "three" deleted\nconfigmap "four" deleted\n');
  await run('create', 'namespace', 'crowd');
  for (const name of ['a', 'b']) await run('create', 'configmap', name, '-n', 'crowd');
  const all = await run('delete', 'cm', '--all', '-n', 'crowd');
  assert.match(all, /configmap "a" deleted\nconfigmap "b" deleted\n/);
  await runPod('now');
  assert.equal(await run('delete', 'pod', 'now', '--now'), 'pod "now" deleted\n');
});

test('delete --cascade=background deletes the dependents afterwards', async () => {
  await deploy('behind');
  assert.equal(
    await run('delete', 'deployment', 'behind', '--cascade=background'),
    'deployment.apps "behind" deleted\n',
  );
  await waitFor('no dependents', async () => (await names('rs,pods', 'app=behind')) === '');
});

test('delete --cascade=foreground returns when the dependents are gone', async () => {
  await deploy('ahead');
  assert.equal(await run('delete', 'deployment', 'ahead', '--cascade=foreground'), 'deployment.apps "ahead" deleted\n');
  assert.equal(await names('rs,pods', 'app=ahead'), '');
});

test('delete --cascade=orphan leaves the dependents without an owner, and a new Deployment adopts them', async () => {
  await deploy('kept');
  const pods = await names('pods', 'app=kept');
  await run('delete', 'deployment', 'kept', '--cascade=orphan');
  assert.equal(await names('pods', 'app=kept'), pods);
  assert.equal(await run('get', 'rs', '-l', 'app=kept', '-o', 'jsonpath={.items[*].metadata.ownerReferences}'), '');
  await deploy('kept');
  assert.equal(await names('pods', 'app=kept'), pods);
  assert.match(
    await run('get', 'rs', '-l', 'app=kept', '-o', 'jsonpath={.items[*].metadata.ownerReferences}'),
    /"name":"kept"/,
  );
  await run('delete', 'deployment', 'kept', '--cascade=foreground');
});

test('delete with a failed precondition and delete of a missing object are reported', async () => {
  assert.equal(
    (await attempt('delete', 'cm', 'nobody')).stderr,
    'Error from server (NotFound): configmaps "nobody" not found\n',
  );
  assert.equal((await attempt('delete', 'cm', 'nobody', '--ignore-not-found')).code, 0);
  const none = await attempt('delete', 'cm', '-l', 'no=body');
  assert.deepEqual([none.code, none.stdout], [0, 'No resources found\n']);
});

test('delete --dry-run=server deletes nothing', async () => {
  await run('create', 'configmap', 'safe');
  assert.equal(await run('delete', 'cm', 'safe', '--dry-run=server'), 'configmap "safe" deleted (server dry run)\n');
  assert.equal(await run('get', 'cm', 'safe', '-o', 'name'), 'configmap/safe\n');
});

test('a finalizer holds an object until it is removed', async () => {
  await run('create', 'configmap', 'held');
  await run('patch', 'cm', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}');
  await run('delete', 'cm', 'held', '--wait=false');
  assert.notEqual(await run('get', 'cm', 'held', '-o', 'jsonpath={.metadata.deletionTimestamp}'), '');
  await run('patch', 'cm', 'held', '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]');
  assert.equal((await attempt('get', 'cm', 'held')).code, 1);
});

test('wait detects a condition, a JSONPath, a creation and a deletion, and times out', async () => {
  await using creation = follow('wait', '--for=create', 'deployment/awaited', '--timeout=30s');
  await run('create', 'deployment', 'awaited', '--image=busybox', '--', 'sleep', '3600');
  await waitFor('it is created', () => creation.printed.includes('deployment.apps/awaited condition met'));
  const wait = (...args: readonly string[]): Promise<string> =>
    run('wait', 'deployment/awaited', '--timeout=30s', ...args);
  assert.equal(await wait('--for=condition=Available'), 'deployment.apps/awaited condition met\n');
  assert.equal(await wait('--for=jsonpath={.status.readyReplicas}=1'), 'deployment.apps/awaited condition met\n');
  const late = await attempt('wait', 'deployment/awaited', '--for=condition=Sunny', '--timeout=1s');
  assert.equal(late.stderr, 'error: timed out waiting for the condition on deployments/awaited\n');
  await using deletion = follow('wait', '--for=delete', 'deployment/awaited', '--timeout=30s', '-v=6');
  await waitFor('it looks', () => deletion.printed.includes('watch=true'));
  await run('delete', 'deployment', 'awaited');
  await waitFor('it is gone', () => deletion.printed.includes('deployment.apps/awaited condition met'));
});
