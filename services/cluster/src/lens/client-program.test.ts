import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { CONFIG_MAPS, type ConfigMap } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { eventually } from '@holdfast/platform/contract';
import { type Cluster, startCluster } from '../index.ts';
import { ClientProgram } from './client-program.ts';

const namespace = 'default';
const user = 'operator';
const configMap = (name: string): ConfigMap => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } });

const start = (): Promise<Cluster> => startCluster({ without: ['scheduler', 'controllers'] });
const isThere = async ({ client }: Cluster, name: string): Promise<boolean> =>
  (await client.find(CONFIG_MAPS, { namespace, name })) !== undefined;

/** Stands for an operator in another language: only its process matters here. */
function program(t: TestContext) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const { pid } = child;
  assert.ok(pid !== undefined);
  const state = (): string => execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  const endedBy = (): Promise<string> => eventually(() => child.signalCode ?? undefined, 'the program to be ended');
  return { pid, ended: once(child, 'exit'), endedBy, isPaused: () => state().startsWith('T') };
}

for (const moment of ['before', 'after'] as const) {
  test(`crash kills the program of the client ${moment} its second write`, async (t) => {
    await using cluster = await start();
    const operator = cluster.access({ name: user, groups: ['system:masters'] }).client;
    const { pid, endedBy } = program(t);
    using _lens = await cluster.lens({ kind: 'crash', user, moment, pid, skip: 1, times: 1 });
    await operator.create(CONFIG_MAPS, configMap('one'));
    await assert.rejects(operator.create(CONFIG_MAPS, configMap('two')), TransportError);
    assert.equal(await endedBy(), 'SIGKILL');
    assert.equal(await isThere(cluster, 'two'), moment === 'after');
  });

  test(`paused stops the program of the client ${moment} a write, until the lens is off`, async (t) => {
    await using cluster = await start();
    const operator = cluster.access({ name: user, groups: ['system:masters'] }).client;
    const { pid, isPaused } = program(t);
    const hit = Promise.withResolvers<void>();
    const onHit = (): void => hit.resolve();
    using lens = await cluster.lens({ kind: 'paused', user, moment, pid, times: 1, onHit });
    let isAnswered = false;
    const written = operator.create(CONFIG_MAPS, configMap('one')).then(() => (isAnswered = true));
    await hit.promise;
    await eventually(isPaused, 'the program to stand still');
    assert.equal(await isThere(cluster, 'one'), moment === 'after');
    assert.equal(isAnswered, false);
    lens.off();
    await written;
    await eventually(() => !isPaused(), 'the program to go on');
    assert.equal(await isThere(cluster, 'one'), true);
  });
}

test('a pause that is over before the write is answered never begins', async (t) => {
  await using cluster = await start();
  const operator = cluster.access({ name: user, groups: ['system:masters'] }).client;
  const { pid, isPaused } = program(t);
  const lens = await cluster.lens({ kind: 'paused', user, pid, onHit: () => lens.off() });
  await operator.create(CONFIG_MAPS, configMap('one'));
  assert.equal(isPaused(), false);
});

test('a number is not signalled again after the kill, nor when its process has ended by itself', async (t) => {
  const [killed, gone] = [program(t), program(t)];
  const [first, second] = [new ClientProgram(killed.pid), new ClientProgram(gone.pid)];
  first.kill();
  process.kill(gone.pid, 'SIGKILL');
  await Promise.all([killed.ended, gone.ended]);
  second.pause();
  // From here on the numbers may belong to others.
  const signalled = t.mock.method(process, 'kill', () => true);
  for (const each of [first, second]) {
    each.pause();
    each.resume();
    each.kill();
  }
  assert.equal(signalled.mock.callCount(), 0);
});

test('a pid that is not there, or that of the cluster itself, is refused', async (t) => {
  await using cluster = await start();
  const { pid, ended } = program(t);
  process.kill(pid, 'SIGKILL');
  await ended;
  await assert.rejects(cluster.lens({ kind: 'crash', user, pid }), {
    message: `there is no process ${pid} that may be signalled`,
  });
  await assert.rejects(cluster.lens({ kind: 'paused', user, pid: process.pid }), {
    message: /that of the cluster itself/,
  });
  await assert.rejects(cluster.lens({ kind: 'crash', user, pid: 1 }), {
    message: /pid has to be a whole number from 2/,
  });
});
