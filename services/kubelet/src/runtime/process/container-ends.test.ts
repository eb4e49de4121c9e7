import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { RuntimeError } from '../port.ts';
import { ContainerEnds } from './container-ends.ts';
import { DEATH_CONFIRM_MS } from './limits.ts';
import { type LiveContainer, liveContainer } from './live-container.ts';
import type { MarkedProcess } from './process-table.ts';
import type { ContainerRecord } from './records.ts';

const FOREIGN = 603;
const OWN = 604;

/** Kills of the process of another user are refused, as by the kernel. */
function mockKill(t: TestContext): readonly number[] {
  const killed: number[] = [];
  t.mock.method(process, 'kill', (pid: number) => {
    if (pid === FOREIGN) throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    killed.push(pid);
    return true;
  });
  return killed;
}

function scene(look: () => readonly number[]) {
  const clock = createVirtualClock();
  const container = liveContainer({ id: 'c1', state: 'running', config: { name: 'main' } } as ContainerRecord);
  const exited: LiveContainer[] = [];
  const ends = new ContainerEnds({
    clock,
    bootId: 'boot',
    processes: { members: async () => look().map((pid) => ({ pid }) as MarkedProcess), follow: async () => undefined },
    onExited: (each) => void exited.push(each),
  });
  const errors: RuntimeError[] = [];
  container.waiters.add({ resolve: () => undefined, reject: (error) => void errors.push(error), owner: {} });
  return { clock, container, ends, exited, errors };
}

test('a process of another user leaves a stop unconfirmed, and the others are killed', async (t) => {
  const killed = mockKill(t);
  let alive = [FOREIGN, OWN];
  const { clock, container, ends, exited, errors } = scene(() => alive);
  const ended = ends.endRest(container, ends.unknownExit());
  await clock.advance(DEATH_CONFIRM_MS + 1_000);
  assert.ok(killed.includes(OWN));
  assert.deepEqual([errors.map(({ code }) => code), exited], [['Unconfirmed'], []]);
  alive = [];
  await clock.advance(1_000);
  await ended;
  assert.deepEqual(exited, [container], 'its end is still noticed');
});

test('the kill after the grace period goes on for a process of another user', async (t) => {
  const killed = mockKill(t);
  const { clock, container, ends, errors } = scene(() => [FOREIGN, OWN]);
  ends.killAfter(container, 0);
  await clock.advance(DEATH_CONFIRM_MS + 1_000);
  assert.ok(killed.includes(OWN));
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['Unconfirmed'],
  );
});

test('a look that fails confirms no end, and the next one goes on', async (t) => {
  const lines: string[] = [];
  t.mock.method(process.stderr, 'write', (line: string) => lines.push(line) > 0);
  let looks = 0;
  const { clock, container, ends, exited } = scene(() => {
    if (++looks <= 2) throw new Error('EMFILE: too many open files');
    return [];
  });
  const ended = ends.endRest(container, ends.unknownExit());
  await clock.advance(25);
  assert.deepEqual(exited, []);
  await clock.advance(1_000);
  await ended;
  assert.deepEqual([exited, lines.length], [[container], 1]);
  assert.match(lines[0] ?? '', /EMFILE/);
});
