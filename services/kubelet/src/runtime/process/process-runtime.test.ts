import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import {
  containerConfig,
  containerOf,
  eventually,
  exited,
  type RuntimeHarness,
  sandboxConfig,
  testContainerRuntime,
} from '../contract.ts';
import { testRuntimeStreams } from '../contract-streams.ts';
import type { ContainerStatus } from '../port.ts';
import { createProcessRuntime, type ProcessRuntime } from './index.ts';
import { createProcessTable, readProcess } from './process-table.ts';
import { socketPath } from './socket-path.ts';

const clock = createSystemClock();

const open = (stateDirectory: string): ProcessRuntime =>
  createProcessRuntime({ stateDirectory, clock, log: createSilentLog(), nodeAddress: () => '192.0.2.7' });

async function createHarness(): Promise<RuntimeHarness & { stateDirectory: string; runtime: ProcessRuntime }> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'holdfast-process-'));
  let runtime = open(stateDirectory);
  return {
    stateDirectory,
    runtime,
    reopen: async () => {
      await runtime.close();
      runtime = open(stateDirectory);
      return runtime;
    },
    dispose: async () => {
      await runtime.shutdown(0);
      rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
}

const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script];

const liveProcessesOf = (containerId: string): readonly number[] =>
  createProcessTable()
    .scan()
    .filter((entry) => entry.marker === containerId)
    .map((entry) => entry.pid);

const output = async (container: ContainerStatus): Promise<string> => {
  try {
    return readFileSync(container.logPath ?? '', 'utf8');
  } catch {
    return '';
  }
};

testContainerRuntime(
  'process runtime',
  {
    exitAfter: (seconds, exitCode) => shell(`sleep ${seconds}; exit ${exitCode}`),
    runForever: ['/bin/sleep', '600'],
    ignoreStopSignal: shell('trap "" TERM; echo deaf; sleep 600; sleep 600'),
    programs: {
      forkChildren: shell('sleep 601 & setsid sleep 602 & (setsid sh -c "sleep 603 & sleep 604" &) ; wait'),
      countChildren: async (container) =>
        liveProcessesOf(container.id).length - 1 + (container.state === 'exited' ? 1 : 0),
      print: (words) => shell(`echo "${words}"`),
      output,
      ownVariables: ['HOLDFAST_CONTAINER_ID'],
      missingWorkingDirectory: 'refused',
    },
    imagesWithoutCommand: 'refused',
  },
  createHarness,
);

testRuntimeStreams(
  'process runtime',
  {
    runForever: ['/bin/sleep', '600'],
    echo: ['/bin/cat'],
    bothOutputs: shell('echo out; echo err >&2; exit 3'),
    flood: ['/usr/bin/yes'],
    unknownCommand: ['no-such-program-here'],
    terminalSize: shell('while read line; do stty size; done'),
    echoServer: (port) => [process.execPath, '-e', echoServer(port)],
    countProcesses: (id) => liveProcessesOf(id).length,
  },
  createHarness,
);

const echoServer = (port: number): string =>
  `require('node:net').createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(${port}, '127.0.0.1')`;

const supervisorPids = (stateDirectory: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        readProcess(pid)?.zombie === false && commandLine(pid).includes(`supervisor-main.mjs\0${stateDirectory}\0`),
    );

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

async function withHarness(body: (harness: Awaited<ReturnType<typeof createHarness>>) => Promise<void>): Promise<void> {
  const harness = await createHarness();
  try {
    await body(harness);
  } finally {
    await harness.dispose();
  }
}

async function start(runtime: ProcessRuntime, command: readonly string[], podUid = 'u1'): Promise<string> {
  const sandbox = await runtime.runSandbox(sandboxConfig(podUid));
  const id = await runtime.createContainer(sandbox, containerConfig(command));
  await runtime.startContainer(id);
  return id;
}

async function killSupervisor(stateDirectory: string): Promise<void> {
  const [pid] = supervisorPids(stateDirectory);
  assert.ok(pid !== undefined, 'a supervisor runs');
  process.kill(pid, 'SIGKILL');
  await eventually(() => !supervisorPids(stateDirectory).includes(pid), 'the supervisor is gone');
}

test('the supervisor starts with the first pod, not before', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    assert.deepEqual(await runtime.list(), []);
    assert.deepEqual(supervisorPids(stateDirectory), []);
    await runtime.runSandbox(sandboxConfig('u1'));
    assert.equal(supervisorPids(stateDirectory).length, 1);
  }));

test('[TEST-05] a killed supervisor leaves its containers running; the next one adopts the same processes', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const id = await start(runtime, ['/bin/sleep', '600']);
    const before = liveProcessesOf(id);
    assert.equal(before.length, 1);
    await killSupervisor(stateDirectory);
    assert.deepEqual(liveProcessesOf(id), before);
    const status = await eventually(
      () => containerOf(runtime, id).catch(() => undefined),
      'another supervisor answers',
    );
    assert.equal(status.state, 'running');
    assert.deepEqual(liveProcessesOf(id), before);
    await runtime.stopContainer(id, 5_000);
    assert.deepEqual(liveProcessesOf(id), []);
  }));

test('a container that ended while no supervisor ran is reported as unknown, 137', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const id = await start(runtime, ['/bin/sleep', '600']);
    await killSupervisor(stateDirectory);
    for (const pid of liveProcessesOf(id)) process.kill(pid, 'SIGKILL');
    await eventually(() => liveProcessesOf(id).length === 0, 'the container is gone');
    const status = await eventually(
      () => containerOf(runtime, id).catch(() => undefined),
      'another supervisor answers',
    );
    assert.deepEqual([status.state, status.exitCode, status.reason], ['exited', 137, 'ContainerStatusUnknown']);
  }));

test('the later end of an adopted container is detected, with all of its processes', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const id = await start(runtime, shell('setsid sleep 605 & sleep 606'));
    await eventually(() => liveProcessesOf(id).length === 3, 'all processes run');
    await killSupervisor(stateDirectory);
    const again = await eventually(() => containerOf(runtime, id).catch(() => undefined), 'another supervisor answers');
    assert.equal(again.state, 'running');
    await runtime.stopContainer(id, 5_000);
    assert.equal((await exited(runtime, id)).reason, 'ContainerStatusUnknown');
    assert.deepEqual(liveProcessesOf(id), []);
  }));

/** Those that carry no id of a container are found by their command. */
const sleepersOf = (seconds: readonly string[]): readonly number[] =>
  createProcessTable()
    .scan()
    .map(({ pid }) => pid)
    .filter((pid) => seconds.some((each) => commandLine(pid) === `sleep\0${each}\0`));

test('[SAFE-12] a container ends with those of its processes that gave up its id and its session', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const seconds = [1, 2, 3].map((each) => `60${each}.${process.pid}`);
    const [renamed, cleared, orphaned] = seconds;
    const id = await start(
      runtime,
      shell(
        `HOLDFAST_CONTAINER_ID=x sleep ${renamed} & setsid env -i sleep ${cleared} & env -i sleep ${orphaned} & wait`,
      ),
    );
    await eventually(() => sleepersOf(seconds).length === 3, 'all run');
    await runtime.stopContainer(id, 5_000);
    assert.deepEqual(sleepersOf(seconds), []);
    assert.equal(supervisorPids(stateDirectory).length, 1);
  }));

test('[SAFE-12] so does a container that ends by itself, and takes the parents of such a process with it', () =>
  withHarness(async ({ runtime }) => {
    // A busy machine looks less often.
    for (const lifetime of [3, 9]) {
      const seconds = `61${lifetime}.${process.pid}`;
      const id = await start(runtime, shell(`setsid env -i sleep ${seconds} & sleep ${lifetime}`), `u${lifetime}`);
      await eventually(() => sleepersOf([seconds]).length === 1, 'it runs');
      await exited(runtime, id);
      const left = sleepersOf([seconds]);
      if (left.length === 0) return;
      for (const pid of left) process.kill(pid, 'SIGKILL');
    }
    assert.fail('it outlived its container');
  }));

test('a supervisor killed under a client is restarted, and pods are synced again', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const id = await start(runtime, ['/bin/sleep', '600']);
    const told: string[] = [];
    runtime.onChange((podUid) => told.push(podUid));
    await killSupervisor(stateDirectory);
    await eventually(() => told.includes('u1'), 'the pod is looked at');
    assert.equal((await containerOf(runtime, id)).state, 'running');
    for (const pid of liveProcessesOf(id)) process.kill(pid, 'SIGKILL');
    assert.equal((await exited(runtime, id)).reason, 'ContainerStatusUnknown');
  }));

test('a stop that loses its supervisor is repeated', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const id = await start(runtime, shell('trap "" TERM; echo deaf; sleep 600; sleep 600'));
    await eventually(async () => (await output(await containerOf(runtime, id))) !== '', 'the trap is set');
    const stopped = runtime.stopContainer(id, 300);
    await killSupervisor(stateDirectory);
    await stopped;
    assert.deepEqual(liveProcessesOf(id), []);
  }));

test('shutdown leaves no process behind, neither of a pod nor the supervisor', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const ids = [
      await start(runtime, ['/bin/sleep', '600']),
      await start(runtime, shell('trap "" TERM; sleep 607 & wait; sleep 608'), 'u2'),
    ];
    await runtime.shutdown(100);
    for (const id of ids) assert.deepEqual(liveProcessesOf(id), []);
    await eventually(() => supervisorPids(stateDirectory).length === 0, 'the supervisor ended');
    const until = clock.monotonic() + 300;
    await eventually(() => {
      assert.deepEqual(supervisorPids(stateDirectory), [], 'and none comes back');
      return clock.monotonic() > until;
    }, 'a while passed');
  }));

test('after shutdown no file of the node changes any more, so its directory can be removed', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    await start(runtime, ['/bin/sleep', '600']);
    await runtime.shutdown(0);
    assert.equal(existsSync(socketPath(stateDirectory)), false);
    rmSync(stateDirectory, { recursive: true });
    assert.equal(existsSync(stateDirectory), false);
  }));

test('two concurrent clients share one supervisor', () =>
  withHarness(async ({ runtime, stateDirectory }) => {
    const other = open(stateDirectory);
    await Promise.all([runtime.runSandbox(sandboxConfig('u1')), other.runSandbox(sandboxConfig('u2'))]);
    assert.equal((await runtime.list()).length, 2);
    assert.equal(
      (await eventually(() => supervisorPids(stateDirectory).length === 1 && [1], 'one supervisor')).length,
      1,
    );
    await other.close();
  }));

test('the image pause needs no command and ends at the stop signal', () =>
  withHarness(async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const id = await runtime.createContainer(sandbox, containerConfig([], { image: 'registry.k8s.io/pause:3.10' }));
    await runtime.startContainer(id);
    await eventually(() => liveProcessesOf(id).length === 2, 'the shell waits');
    await runtime.stopContainer(id, 5_000);
    assert.equal((await containerOf(runtime, id)).exitCode, 0);
  }));

test('an image that is only a shell runs its arguments, and without arguments the shell', () =>
  withHarness(async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const told = containerConfig([], { image: 'busybox', args: ['/bin/sh', '-c', 'echo $0 $1', 'one', 'two'] });
    const id = await runtime.createContainer(sandbox, told);
    await runtime.startContainer(id);
    const ended = await exited(runtime, id);
    assert.deepEqual([ended.exitCode, await output(ended)], [0, 'one two\n']);
    const bare = await runtime.createContainer(sandbox, { ...containerConfig([], { image: 'busybox' }), name: 'bare' });
    await runtime.startContainer(bare);
    assert.equal((await exited(runtime, bare)).exitCode, 0, 'a shell without input ends well');
  }));

test('users of pods may traverse the folders of the server only where nothing can be mounted', async (t) => {
  const server = mkdtempSync(join(tmpdir(), 'holdfast-server-'));
  t.after(() => rmSync(server, { recursive: true, force: true }));
  const nodes = join(server, 'nodes');
  mkdirSync(nodes, { mode: 0o700 });
  const modes = async (mounts: boolean): Promise<readonly string[]> => {
    const stateDirectory = join(nodes, `mounts-${mounts}`);
    const abilities = { mounts, user: 'any' } as const;
    const options = { clock, log: createSilentLog(), nodeAddress: () => '', stateDirectory, abilities };
    await createProcessRuntime({ ...options, above: [nodes, server] }).close();
    return [server, nodes, stateDirectory].map((folder) => (statSync(folder).mode & 0o777).toString(8));
  };
  assert.deepEqual(await modes(true), ['700', '700', '700']);
  assert.deepEqual(await modes(false), ['711', '711', '711']);
});

const volumeOf = async (runtime: ProcessRuntime, name: string): Promise<string> => {
  assert.ok(runtime.abilities?.mounts, 'needs unshare, setpriv and mount (util-linux), and the right to use them');
  const [sandbox] = await runtime.list();
  const path = join(sandbox?.volumesPath ?? assert.fail('the runtime keeps volumes'), name);
  mkdirSync(path, { recursive: true });
  return path;
};

const mountsOf = (source: string, target: string, readOnly = false) => ({ mounts: [{ source, target, readOnly }] });

test('[POD-25] volumes appear at their paths, also where the machine has no such path, and leave nothing on it', () =>
  withHarness(async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const source = await volumeOf(runtime, 'data');
    writeFileSync(join(source, 'greeting'), 'hello');
    const mounts = [
      { source, target: '/holdfast-test/deep/data', readOnly: false },
      { source, target: '/etc/holdfast-test', readOnly: true },
      { source: join(source, 'greeting'), target: '/etc/hostname', readOnly: true },
    ];
    const script =
      'cat /holdfast-test/deep/data/greeting /etc/hostname; ls /usr/bin/env; echo x > /holdfast-test/deep/data/written; echo x > /etc/holdfast-test/no || echo refused; sleep 600';
    const id = await runtime.createContainer(sandbox, containerConfig(shell(script), { mounts }));
    await runtime.startContainer(id);
    await eventually(async () => (await output(await containerOf(runtime, id))).includes('refused'), 'it wrote');
    assert.match(await output(await containerOf(runtime, id)), /^hellohello\/usr\/bin\/env\n/);
    assert.equal(readFileSync(join(source, 'written'), 'utf8'), 'x\n');
    assert.ok(!existsSync('/holdfast-test') && !existsSync('/etc/holdfast-test'));
    const beside = await runtime.exec(id, shell('cat /holdfast-test/deep/data/greeting; pwd'), 5_000);
    assert.equal(beside.output, 'hello/holdfast\n');
    await runtime.stopContainer(id, 0);
    assert.deepEqual(liveProcessesOf(id), []);
  }));

test('a terminal does not change the mounts: the start is detected at once, and exec sees the volumes', () =>
  withHarness(async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const source = await volumeOf(runtime, 'data');
    writeFileSync(join(source, 'greeting'), 'hello');
    const mounts = [{ source, target: '/holdfast-test/data', readOnly: false }];
    const id = await runtime.createContainer(sandbox, containerConfig(['/bin/sleep', '600'], { mounts, tty: true }));
    await runtime.startContainer(id);
    const seen = await runtime.exec(id, ['/bin/cat', '/holdfast-test/data/greeting'], 10_000);
    assert.deepEqual(seen, { exitCode: 0, output: 'hello' });
    await runtime.stopContainer(id, 0);
  }));

test('a failed start inside the mounts is a start error, and an exit is reported as without mounts', () =>
  withHarness(async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const source = await volumeOf(runtime, 'data');
    const run = async (name: string, change: Parameters<typeof containerConfig>[1], command: readonly string[]) => {
      const config = { ...containerConfig(command, { ...mountsOf(source, '/data'), ...change }), name };
      const id = await runtime.createContainer(sandbox, config);
      await runtime.startContainer(id);
      const { exitCode, reason, message } = await exited(runtime, id);
      return { exitCode, reason, message };
    };
    const missing = 'exec: "no-such-program": executable file not found in $PATH';
    assert.deepEqual(await run('a', {}, ['no-such-program']), {
      exitCode: 128,
      reason: 'StartError',
      message: missing,
    });
    assert.match((await run('b', { workingDir: '/nowhere' }, ['true'])).message ?? '', /"\/nowhere" does not exist/);
    assert.match((await run('c', mountsOf('/no/such/source', '/data'), ['true'])).message ?? '', /cannot mount/);
    assert.deepEqual(await run('d', {}, shell('exit 3')), { exitCode: 3, reason: 'Error', message: undefined });
  }));

test('a container runs as the user it names', () =>
  withHarness(async ({ runtime }) => {
    const { user } = runtime.abilities ?? assert.fail('a real runtime says what it can');
    const other = user === 'any' ? { uid: 12_345, gid: 12_346 } : user;
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const source = await volumeOf(runtime, 'data');
    for (const mounts of [[], mountsOf(source, '/data').mounts]) {
      const config = containerConfig(shell('id -u; id -g; touch mine'), { user: other, mounts });
      const id = await runtime.createContainer(sandbox, { ...config, name: `c${mounts.length}` });
      await runtime.startContainer(id);
      assert.equal((await exited(runtime, id)).exitCode, 0);
      assert.equal(await output(await containerOf(runtime, id)), `${other.uid}\n${other.gid}\n`);
    }
  }));
