import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { containerConfig, eventually, sandboxConfig } from '../contract.ts';
import type { FencingClass } from '../fencing-deadline.ts';
import { RuntimeError } from '../port.ts';
import { createDeadlineFile } from './deadline-file.ts';
import { createProcessRuntime, type ProcessRuntime } from './index.ts';
import { LINE_MAX_BYTES } from './limits.ts';
import { createProcessTable } from './process-table.ts';
import { type ClientLine, createLineReader, encodeLine } from './protocol.ts';
import { socketPath } from './socket-path.ts';

const clock = createSystemClock();
/** Longer than any of these tests takes. */
const FAR_MS = 600_000;

interface Scene {
  readonly directory: string;
  readonly runtime: ProcessRuntime;
  readonly guard: NonNullable<ProcessRuntime['guard']>;
}

const open = (stateDirectory: string, watchdogDevice?: string): ProcessRuntime =>
  createProcessRuntime({
    stateDirectory,
    clock,
    log: createSilentLog(),
    nodeAddress: () => '192.0.2.7',
    watchdogDevice,
  });

function createScene(t: TestContext, deviceName?: string): Scene {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-watchdog-'));
  const runtime = open(directory, deviceName === undefined ? undefined : join(directory, deviceName));
  t.after(async () => {
    for (const pid of programs(directory)) signal(pid, 'SIGCONT');
    // The one of the test may be closed.
    const last = open(directory);
    last.guard?.withdraw();
    await runtime.close();
    await last.shutdown(0);
    await eventually(() => programs(directory).length === 0, 'nothing is left');
    rmSync(directory, { recursive: true, force: true });
  });
  return { directory, runtime, guard: runtime.guard ?? assert.fail('process nodes have a guard') };
}

/** A process that ignores the stop signal and has left its session with a child: only a kill of all ends it. */
const STUBBORN = ['/bin/sh', '-c', 'trap "" TERM; setsid sleep 600 & sleep 600'];

async function run({ runtime }: Scene, uid: string, fencing: FencingClass, startBeforeMs?: number): Promise<string> {
  const sandbox = await runtime.runSandbox({ ...sandboxConfig(uid), fencing });
  const id = await runtime.createContainer(sandbox, containerConfig(STUBBORN));
  await runtime.startContainer(id, startBeforeMs);
  await eventually(() => alive(id) >= 2, 'it runs');
  return id;
}

const alive = (id: string): number =>
  createProcessTable()
    .scan()
    .filter(({ marker }) => marker === id).length;

/** Supervisor and watchdog of this directory. */
function programs(directory: string, name = ''): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const command = commandLine(pid);
      return (
        command.includes(`${name}-main.mjs\0${directory}\0`) ||
        (name === '' && command.includes(`-main.mjs\0${directory}\0`))
      );
    });
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

for (const stopped of ['nobody', 'supervisor', 'watchdog'] as const) {
  test(`[SAFE-32] at the deadline every process of an exclusive pod is killed, and no other (stopped: ${stopped})`, async (t) => {
    const scene = createScene(t);
    const { guard, directory } = scene;
    guard.extend(guard.now() + FAR_MS, 'exclusive');
    const exclusive = await run(scene, 'u1', 'exclusive', guard.deadline());
    const other = await run(scene, 'u2', 'other');
    await guard.ready();
    for (const pid of stopped === 'nobody' ? [] : programs(directory, stopped)) signal(pid, 'SIGSTOP');
    guard.extend(guard.now() + 300, 'exclusive');
    await eventually(() => alive(exclusive) === 0, 'the exclusive pod is dead');
    assert.ok(guard.now() >= (guard.deadline() ?? 0), 'not before');
    assert.ok(alive(other) >= 2);
  });
}

for (const killed of ['supervisor', 'watchdog'] as const) {
  test(`[SAFE-32] the deadline is enforced when the ${killed} was killed and is not restarted`, async (t) => {
    const scene = createScene(t);
    const { guard, directory, runtime } = scene;
    guard.extend(guard.now() + FAR_MS, 'exclusive');
    const exclusive = await run(scene, 'u1', 'exclusive', guard.deadline());
    await guard.ready();
    // As after the kubelet's own end: nothing restarts a missing process.
    await runtime.close();
    for (const pid of programs(directory, killed)) signal(pid, 'SIGKILL');
    createDeadlineFile(directory, readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()).write({
      untilMs: guard.now() + 300,
      policy: 'exclusive',
    });
    await eventually(() => alive(exclusive) === 0, 'the exclusive pod is dead');
    const next = createProcessRuntime({
      stateDirectory: directory,
      clock,
      log: createSilentLog(),
      nodeAddress: () => '',
    });
    next.guard?.withdraw();
    await next.shutdown(0);
  });
}

test('with the policy "all", every pod except static pods is killed', async (t) => {
  const scene = createScene(t);
  const { guard } = scene;
  const other = await run(scene, 'u1', 'other');
  const own = await run(scene, 'u2', 'never');
  await guard.ready();
  guard.extend(guard.now(), 'all');
  await eventually(() => alive(other) === 0, 'the pod is dead');
  assert.ok(alive(own) >= 2);
});

test('[FENCE-06] the watchdog of a node writes to the device of its machine, and closes it in order at the end', async (t) => {
  const scene = createScene(t, 'device');
  const device = join(scene.directory, 'device');
  writeFileSync(device, '');
  const written = (): string => readFileSync(device, 'utf8');
  await run(scene, 'u1', 'exclusive');
  await scene.guard.ready();
  await eventually(() => /^\.+$/.test(written()), 'it writes while nothing is promised');
  await scene.runtime.shutdown(0);
  await eventually(() => /^\.+V$/.test(written()), 'it tells the device to stop');
});

test('a start is refused after the deadline of its confirmation, and without one while a promise holds', async (t) => {
  const scene = createScene(t);
  const { guard, runtime } = scene;
  guard.extend(guard.now() + FAR_MS, 'exclusive');
  const isFenced = (error: unknown): boolean => error instanceof RuntimeError && error.code === 'Fenced';
  await assert.rejects(run(scene, 'u1', 'exclusive'), isFenced);
  await assert.rejects(run(scene, 'u1', 'exclusive', guard.now() - 1), isFenced);
  const states = (await runtime.list()).flatMap(({ containers }) => containers.map(({ state }) => state));
  assert.deepEqual(states, ['created'], 'it can be started later');
  await run(scene, 'u1', 'exclusive', guard.deadline());
});

test('a killed or stopped watchdog is detected by the next request, and a new one answers', async (t) => {
  const scene = createScene(t);
  const { guard, directory } = scene;
  await run(scene, 'u1', 'other');
  await guard.ready();
  const [first] = programs(directory, 'watchdog');
  assert.ok(first !== undefined);
  signal(first, 'SIGKILL');
  await eventually(() => !programs(directory, 'watchdog').includes(first), 'it is gone');
  await guard.ready();
  const [second] = programs(directory, 'watchdog');
  assert.ok(second !== undefined && second !== first);
  signal(second, 'SIGSTOP');
  await assert.rejects(guard.ready(), /watchdog/);
  signal(second, 'SIGCONT');
});

test('with a supervisor of an earlier version, which enforces no deadline, the node promises nothing', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-watchdog-'));
  mkdirSync(join(directory, 'sandboxes', 'of-a-pod'), { recursive: true });
  const server = createServer((socket) => {
    const reader = createLineReader<ClientLine>(LINE_MAX_BYTES, ({ id, method }) => {
      const error = { code: 'Unsupported' as const, message: `unknown request ${method}` };
      socket.write(encodeLine({ id, error }));
    });
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => reader.push(chunk));
  });
  await new Promise<void>((resolve) => server.listen(socketPath(directory), resolve));
  const runtime = open(directory);
  t.after(async () => {
    await runtime.close();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await assert.rejects(runtime.guard?.ready() ?? Promise.resolve(), /earlier version/);
  assert.deepEqual(programs(directory), []);
});

test('a deadline of an earlier boot has passed, and an unreadable file ends nothing that was promised a moment ago', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-deadline-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = createDeadlineFile(directory, 'this-boot');
  assert.equal(file.read(), undefined);
  file.write({ untilMs: 123_456, policy: 'exclusive' });
  assert.deepEqual(file.read(), { untilMs: 123_456, policy: 'exclusive' });
  assert.equal(createDeadlineFile(directory, 'next-boot').read()?.untilMs, 0);
  file.remove();
  assert.ok(!existsSync(join(directory, 'fencing-deadline')));
  assert.equal(file.read(), undefined);
  // Reading a directory fails as a broken disk does.
  mkdirSync(join(directory, 'fencing-deadline'));
  assert.equal(file.read(), undefined, 'nothing was promised a moment ago');
  assert.equal(createDeadlineFile(directory, 'this-boot').read()?.untilMs, 0, 'nothing is known');
});
