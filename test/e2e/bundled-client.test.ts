import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl, type KubectlResult } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');
const COMMAND_DEADLINE_MS = 60_000;

let cluster: HoldfastProcess;
const { run, attempt } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

/** The typed command: `holdfast <args>`. */
const holdfast = (...args: readonly string[]): Promise<KubectlResult> => asked(cluster, args);

/** The environment sets everything that only a flag may. */
function asked(of: HoldfastProcess, args: readonly string[], reads = true): Promise<KubectlResult> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, ...args];
  const environment = [`KUBECONFIG=${of.ready.kubeconfig}`, 'HOLDFAST_CONFIRM=true', 'HOLDFAST_FORCE=true'];
  const child = spawn('env', [...environment, ...command], { timeout: COMMAND_DEADLINE_MS });
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    if (!reads) child.stdout.destroy();
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

const runPod = async (name: string): Promise<void> => {
  await run('run', name, '--image=busybox', '--restart=Never', '--command', '--', 'sleep', '3600');
  await run('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
};
/** The fields that a deletion would change; its node may still report. */
const FACTS = '{.metadata.uid} {.metadata.generation} {.metadata.deletionTimestamp} {.status.phase} {.spec}';
const written = (name: string): Promise<string> => run('get', 'pod', name, '-o', `jsonpath=${FACTS}`);

test('[EXS-30] [UI-01] force deletion without --confirm warns, fails and leaves the pod unchanged; with it the pod is gone at once', async () => {
  await runPod('foo');
  const before = await written('foo');
  for (const flags of [['--grace-period=0'], ['--force'], ['--grace-period', '0', '--force']]) {
    const refused = await holdfast('delete', 'pod', 'foo', ...flags);
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, '');
    assert.match(refused.stderr, /^Warning: force deletion does not wait for pod "foo" to terminate.*asynchronously/);
    assert.match(refused.stderr, /nothing was deleted: this needs --confirm/);
    assert.equal(await written('foo'), before, 'the pod is unchanged');
  }
  const forced = await holdfast('delete', 'pod', 'foo', '--grace-period=0', '--confirm');
  assert.deepEqual([forced.code, forced.stdout], [0, 'pod "foo" force deleted\n']);
  assert.match(forced.stderr, /^Warning: force deletion does not wait/);
  assert.match(forced.stderr, /\nWarning: pod foo is removed before node node-1 has confirmed/);
  assert.equal((await attempt('get', 'pod', 'foo')).code, 1);
});

test('a plain delete is graceful, and the node removes the pod', async () => {
  await runPod('plain');
  const asked = await holdfast('delete', 'pod/plain');
  assert.equal(asked.code, 0, asked.stderr);
  assert.match(asked.stdout, /^pod "plain" (was asked to end within 30 s; node node-1 removes it|deleted)/);
  assert.equal(asked.stderr, '');
  await waitFor('its node removes it', async () => (await attempt('get', 'pod', 'plain')).code === 1);
});

test('[UI-01] deleting a Node needs --confirm; none of several objects is deleted when one is missing', async () => {
  const refused = await holdfast('delete', 'node', 'node-1');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^Warning: deleting node "node-1" says that this machine is gone for good/);
  await run('create', 'configmap', 'one');
  const absent = await holdfast('delete', 'cm', 'one', 'two');
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /NotFound.*configmaps "two" not found/);
  assert.equal(await run('get', 'cm/one', 'node/node-1', '-o', 'name'), 'configmap/one\nnode/node-1\n');
});

test('a deletion of several objects completes although its output is not read', async () => {
  const names = ['unread-1', 'unread-2', 'unread-3'];
  for (const name of names) await run('create', 'configmap', name);
  const { code } = await asked(cluster, ['delete', 'cm', ...names], false);
  assert.equal(code, 0);
  assert.equal(await run('get', 'cm', ...names, '--ignore-not-found', '-o', 'name'), '');
});

test('[UI-05] [RWO-22] breaking an attachment warns of corruption and requires --confirm; an Event names the user', async () => {
  // Without controllers nothing else writes the attachment that stands for one of a lost node.
  await using quiet = await HoldfastProcess.start(['--memory', '--nodes', '0', '--without', 'controllers,scheduler']);
  const own = createKubectl(() => quiet.ready.kubeconfig);
  const spec = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    nfs: { server: 'storage', path: '/disk' },
  };
  await own.send(['create'], { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'disk' }, spec });
  const detach = (...flags: readonly string[]) => asked(quiet, ['detach', 'volume', 'disk', ...flags]);
  assert.equal((await detach()).stdout, 'volume "disk" is attached to no node\n');
  const pods = [{ namespace: 'default', name: 'db-0', uid: 'u' }];
  const status = { attachment: { nodeName: 'a', nodeUID: 'n', pods } };
  await own.run('patch', 'pv', 'disk', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
  const attachedTo = () => own.run('get', 'pv', 'disk', '-o', 'jsonpath={.status.attachment.nodeName}');
  const refused = await detach();
  assert.deepEqual([refused.code, refused.stdout, await attachedTo()], [1, '', 'a']);
  assert.match(refused.stderr, /^Warning: breaking.*"disk" to node a \(used by default\/db-0\).*data corruption/);
  const broken = await detach('--confirm');
  assert.deepEqual([broken.code, broken.stdout], [0, 'attachment of volume "disk" to node a broken\n']);
  assert.match(broken.stderr, /^Warning: breaking/);
  assert.equal(await attachedTo(), '');
  const events = await own.run('get', 'events', '-o', 'jsonpath={.items[*].message}');
  assert.match(events, /admin broke the attachment to node a/);
});

test('get shows the output of kubectl', async () => {
  assert.equal((await holdfast('get', 'no', '-o', 'wide')).stdout.split(/ +/)[0], 'NAME');
  const own = await holdfast('get', 'namespaces', 'default', '-o', 'json');
  assert.equal(JSON.parse(own.stdout).metadata.name, 'default');
  const headOf = (text: string): readonly string[] => text.split('\n')[0]?.split(/ {2,}/) ?? [];
  for (const args of [['nodes', '-o', 'wide'], ['cm', '-A'], ['svc']]) {
    assert.deepEqual(headOf((await holdfast('get', ...args)).stdout), headOf(await run('get', ...args)));
  }
  assert.equal((await holdfast('get', 'cm', '-l', 'no=body')).stderr, 'No resources found.\n');
});

test('errors are reported with the next step, and nothing is guessed', async () => {
  const mistakes: readonly (readonly [readonly string[], RegExp])[] = [
    [['wash'], /unknown command "wash"/],
    [['get', 'washers'], /no resource "washers"/],
    [['delete', 'pods'], /no object was named/],
    [['delete', 'pod', 'x', '--now'], /unknown option '--now'/],
    [['delete', 'pod', 'x', '-n', 'a/../b'], /"a\/..\/b" is not the name/],
    [['delete', 'pod', '..'], /"\.\." is not the name/],
    [['delete', 'pod', 'x', '--kubeconfig', '/no/such/file'], /\/no\/such\/file cannot be read/],
  ];
  for (const [args, says] of mistakes) {
    const { code, stderr } = await holdfast(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
    assert.match(stderr, /^holdfast: .+\n {2}\S.+\n$/s);
  }
  assert.match((await holdfast()).stdout, /delete +Delete objects/);
});
