import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const PLAY = '/holdfast.io/play/v1';
let cluster: HoldfastProcess;
const { run } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory', '--nodes', '1', '--hollow-nodes', '2', '--play']);
});
after(() => cluster?.[Symbol.asyncDispose]());

const begin = async (step: object): Promise<string> => {
  const file = path.join(cluster.dataDir, 'step.json');
  writeFileSync(file, JSON.stringify(step));
  const answer = await run('create', '--raw', `${PLAY}/faults`, '-f', file);
  return (JSON.parse(answer) as { readonly id: string }).id;
};

const end = (id: string) => run('delete', '--raw', `${PLAY}/faults/${id}`);

const place = (name: string, nodeName: string) =>
  run(
    'run',
    name,
    '--image=busybox',
    `--overrides=${JSON.stringify({ spec: { nodeName } })}`,
    '--command',
    '--',
    'sleep',
    '3600',
  );
const phaseOf = (name: string) => run('get', 'pod', name, '-o', 'jsonpath={.status.phase}');
const isRunning = (name: string) => waitFor(`${name} runs`, async () => (await phaseOf(name)) === 'Running');

test('a node that is cut off starts nothing until its wire is whole', async () => {
  const fault = await begin({ do: 'isolate', target: 'hollow-1' });
  await place('cut', 'hollow-1');
  await place('other', 'hollow-2');
  await isRunning('other');
  assert.equal(await phaseOf('cut'), 'Pending');
  await end(fault);
  await isRunning('cut');
});

test('a paused scheduler binds nothing until it continues', async () => {
  const fault = await begin({ do: 'pause', target: 'scheduler' });
  await run('run', 'unbound', '--image=busybox', '--command', '--', 'sleep', '3600');
  await place('bound', 'hollow-2');
  await isRunning('bound');
  assert.equal(await run('get', 'pod', 'unbound', '-o', 'jsonpath={.spec.nodeName}'), '');
  await end(fault);
  await isRunning('unbound');
});

test('the kubelet of a real node is killed; its processes continue, and it takes them up again', async () => {
  await place('kept', 'node-1');
  await isRunning('kept');
  const idOf = () => run('get', 'pod', 'kept', '-o', 'jsonpath={.status.containerStatuses[0].containerID}');
  const id = await idOf();
  const fault = await begin({ do: 'kubelet-down', target: 'node-1' });
  await place('late', 'node-1');
  await end(fault);
  await isRunning('late');
  assert.equal(await idOf(), id);
  assert.match(await run('exec', 'kept', '--', 'echo', 'alive'), /alive/);
});

test('a node whose disk is full starts nothing new, says why, and starts it when there is room', async () => {
  await place('before', 'node-1');
  await isRunning('before');
  const fault = await begin({ do: 'disk-full', target: 'node-1' });
  await place('full', 'node-1');
  await waitFor('the reason', async () => /no space left on device/.test(await run('describe', 'pod', 'full')));
  assert.match(await run('exec', 'before', '--', 'echo', 'alive'), /alive/);
  await end(fault);
  await isRunning('full');
});

test('only administrators play faults, and only where the cluster was started for them', async () => {
  await assert.rejects(run('get', '--raw', PLAY, '--as', 'alice'), /forbidden|Forbidden/);
  const plain = await HoldfastProcess.start(['--memory', '--nodes', '0']);
  try {
    const theirs = createKubectl(() => plain.ready.kubeconfig);
    await assert.rejects(theirs.run('get', '--raw', PLAY), /NotFound|could not find/);
  } finally {
    await plain[Symbol.asyncDispose]();
  }
});
