import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import type { ContainerConfig, ContainerRuntime, ContainerStatus, SandboxConfig, SandboxStatus } from './port.ts';

/** The dependencies of the contract tests for a runtime. */
export interface RuntimeHarness {
  readonly runtime: ContainerRuntime;
  /** Closes the present client (as a killed kubelet would) and opens another on the same node. */
  reopen(): Promise<ContainerRuntime>;
  dispose(): Promise<void>;
}

export interface RuntimeVocabulary {
  readonly exitAfter: (seconds: number, exitCode: number) => readonly string[];
  readonly runForever: readonly string[];
  readonly ignoreStopSignal: readonly string[];
  /** Present for runtimes that run real programs. */
  readonly programs?: {
    /** Forks children that would outlive their parent, some of them in sessions of their own. */
    readonly forkChildren: readonly string[];
    readonly countChildren: (container: ContainerStatus) => Promise<number>;
    readonly print: (shellWords: string) => readonly string[];
    readonly output: (container: ContainerStatus) => Promise<string>;
    /** Variables that the runtime adds to those of every container. */
    readonly ownVariables: readonly string[];
    /** The behaviour for a missing working directory. */
    readonly missingWorkingDirectory: 'refused' | 'made';
  };
  readonly imagesWithoutCommand: 'run' | 'refused';
}

const GRACE_MS = 5_000;

export const sandboxConfig = (podUid: string, attempt = 0): SandboxConfig => ({
  podUid,
  podName: `pod-${podUid}`,
  podNamespace: 'default',
  hostname: `pod-${podUid}`,
  attempt,
});

export const containerConfig = (
  command: readonly string[],
  change: Partial<ContainerConfig> = {},
): ContainerConfig => ({
  name: 'main',
  image: 'busybox:1.36',
  command,
  args: [],
  env: {},
  restartCount: 0,
  ...change,
});

export { eventually };

export const onlySandbox = async (runtime: ContainerRuntime, podUid: string): Promise<SandboxStatus> => {
  const [sandbox, ...more] = await runtime.list({ podUid });
  assert.ok(sandbox !== undefined && more.length === 0, 'exactly one sandbox');
  return sandbox;
};

export const containerOf = async (runtime: ContainerRuntime, id: string): Promise<ContainerStatus> => {
  const all = (await runtime.list()).flatMap((sandbox) => sandbox.containers);
  const found = all.find((container) => container.id === id);
  assert.ok(found !== undefined, `container ${id} is listed`);
  return found;
};

export const exited = (runtime: ContainerRuntime, id: string): Promise<ContainerStatus> =>
  eventually(async () => {
    const container = await containerOf(runtime, id);
    return container.state === 'exited' && container;
  }, `container ${id} exited`);

/** Every backend passes these. `name` prefixes the titles. */
export function testContainerRuntime(
  name: string,
  vocabulary: RuntimeVocabulary,
  create: () => Promise<RuntimeHarness>,
): void {
  const check = (title: string, body: (harness: RuntimeHarness) => Promise<void>): void => {
    test(`${name}: ${title}`, async () => {
      const harness = await create();
      try {
        await body(harness);
      } finally {
        await harness.dispose();
      }
    });
  };
  const started = async (runtime: ContainerRuntime, config: ContainerConfig, podUid = 'u1'): Promise<string> => {
    const sandbox = await runtime.runSandbox(sandboxConfig(podUid));
    const id = await runtime.createContainer(sandbox, config);
    await runtime.startContainer(id);
    return id;
  };

  check('a container that ends by itself keeps its exit code and times', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.exitAfter(0.05, 3)));
    const status = await exited(runtime, id);
    assert.equal(status.exitCode, 3);
    assert.equal(status.reason, 'Error');
    assert.equal(status.signal, undefined);
    assert.ok((status.startedAt ?? 0) >= status.createdAt);
    assert.ok((status.finishedAt ?? 0) >= (status.startedAt ?? Number.POSITIVE_INFINITY));
  });

  check('exit code 0 is Completed', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.exitAfter(0.01, 0)));
    const status = await exited(runtime, id);
    assert.equal(status.exitCode, 0);
    assert.equal(status.reason, 'Completed');
  });

  check('a created container runs only after start, and starting twice is one start', async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const id = await runtime.createContainer(sandbox, containerConfig(vocabulary.runForever));
    assert.equal((await containerOf(runtime, id)).state, 'created');
    await runtime.startContainer(id);
    const first = await containerOf(runtime, id);
    await runtime.startContainer(id);
    assert.equal(first.state, 'running');
    assert.deepEqual(await containerOf(runtime, id), first);
  });

  check('running a sandbox or creating a container again answers the same one', async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    assert.equal(await runtime.runSandbox(sandboxConfig('u1')), sandbox);
    const config = containerConfig(vocabulary.runForever);
    const id = await runtime.createContainer(sandbox, config);
    assert.equal(await runtime.createContainer(sandbox, config), id);
    const status = await onlySandbox(runtime, 'u1');
    assert.equal(status.containers.length, 1);
    assert.deepEqual(status.config, sandboxConfig('u1'));
    assert.equal(status.state, 'ready');
    assert.notEqual(status.ip, '');
  });

  check('stop sends the stop signal and reports 143', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    await runtime.stopContainer(id, GRACE_MS);
    const status = await containerOf(runtime, id);
    assert.equal(status.state, 'exited');
    assert.equal(status.exitCode, 143);
    assert.equal(status.signal, 15);
  });

  check('[SAFE-12] a stop that meets a start in flight is confirmed only when nothing runs', async ({ runtime }) => {
    for (let attempt = 0; attempt < 10; attempt++) {
      const sandbox = await runtime.runSandbox(sandboxConfig(`race-${attempt}`));
      const id = await runtime.createContainer(sandbox, containerConfig(vocabulary.runForever));
      const starting = runtime.startContainer(id).catch(() => undefined);
      await runtime.stopContainer(id, GRACE_MS);
      assert.equal((await containerOf(runtime, id)).state, 'exited', 'confirmed dead');
      await starting;
      assert.equal((await containerOf(runtime, id)).state, 'exited', 'and it stays dead');
    }
  });

  check('[TERM-13] a container that ignores the stop signal is killed after the grace', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.ignoreStopSignal));
    await settled(vocabulary, runtime, id);
    await runtime.stopContainer(id, 200);
    const status = await containerOf(runtime, id);
    assert.equal(status.state, 'exited');
    assert.equal(status.exitCode, 137);
    assert.equal(status.signal, 9);
  });

  check('a second stop can shorten the grace of the first', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.ignoreStopSignal));
    await settled(vocabulary, runtime, id);
    const first = runtime.stopContainer(id, 600_000);
    await runtime.stopContainer(id, 50);
    await first;
    assert.equal((await containerOf(runtime, id)).exitCode, 137);
  });

  check('[SAFE-08] a stop whose caller goes away does not kill; the next caller starts over', async (harness) => {
    const id = await started(harness.runtime, containerConfig(vocabulary.ignoreStopSignal));
    await settled(vocabulary, harness.runtime, id);
    const abandoned = harness.runtime.stopContainer(id, 300).then(
      () => 'stopped',
      () => 'abandoned',
    );
    const again = await harness.reopen();
    assert.equal(await abandoned, 'abandoned');
    const clock = createSystemClock();
    const lookUntil = clock.monotonic() + 600;
    await eventually(async () => {
      assert.equal((await containerOf(again, id)).state, 'running');
      return clock.monotonic() > lookUntil;
    }, 'the abandoned deadline passed');
    await again.stopContainer(id, 50);
    assert.equal((await containerOf(again, id)).exitCode, 137);
  });

  check('stopping and removing what is stopped or gone succeeds', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const sandbox = await onlySandbox(runtime, 'u1');
    await runtime.stopContainer(id, GRACE_MS);
    await runtime.stopContainer(id, GRACE_MS);
    await runtime.stopContainer('no-such-container', GRACE_MS);
    await runtime.removeContainer(id);
    await runtime.removeContainer(id);
    await runtime.stopSandbox(sandbox.id, GRACE_MS);
    await runtime.stopSandbox(sandbox.id, GRACE_MS);
    await runtime.removeSandbox(sandbox.id);
    await runtime.removeSandbox(sandbox.id);
    assert.deepEqual(await runtime.list(), []);
  });

  check('[SAFE-12] what runs cannot be removed', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(vocabulary.runForever));
    const sandbox = await onlySandbox(runtime, 'u1');
    await assert.rejects(runtime.removeContainer(id), { code: 'IllegalState' });
    await assert.rejects(runtime.removeSandbox(sandbox.id), { code: 'IllegalState' });
    assert.equal((await containerOf(runtime, id)).state, 'running');
  });

  check('stopping a sandbox stops its containers and lets nothing new start in it', async ({ runtime }) => {
    const first = await started(runtime, containerConfig(vocabulary.runForever));
    const sandbox = await onlySandbox(runtime, 'u1');
    const never = await runtime.createContainer(sandbox.id, containerConfig(vocabulary.runForever, { name: 'late' }));
    await runtime.stopSandbox(sandbox.id, GRACE_MS);
    const after = await onlySandbox(runtime, 'u1');
    assert.equal(after.state, 'notReady');
    assert.deepEqual(
      after.containers.map((container) => [container.id, container.state]),
      [
        [first, 'exited'],
        [never, 'exited'],
      ],
    );
    await assert.rejects(runtime.createContainer(sandbox.id, containerConfig(vocabulary.runForever, { name: 'x' })), {
      code: 'IllegalState',
    });
  });

  check('[TEST-05] a new client sees everything: what runs runs on, exit codes are kept', async (harness) => {
    const running = await started(harness.runtime, containerConfig(vocabulary.runForever));
    const ended = await started(harness.runtime, containerConfig(vocabulary.exitAfter(0.01, 7)), 'u2');
    await exited(harness.runtime, ended);
    const before = await harness.runtime.list();
    const again = await harness.reopen();
    assert.deepEqual(await again.list(), before);
    assert.equal((await containerOf(again, running)).state, 'running');
    assert.equal((await containerOf(again, ended)).exitCode, 7);
  });

  check('list can be limited to one pod', async ({ runtime }) => {
    await runtime.runSandbox(sandboxConfig('u1'));
    await runtime.runSandbox(sandboxConfig('u2'));
    assert.equal((await runtime.list()).length, 2);
    assert.equal((await onlySandbox(runtime, 'u2')).config.podUid, 'u2');
    assert.deepEqual(await runtime.list({ podUid: 'u3' }), []);
  });

  check('changes are told with the uid of the pod', async ({ runtime }) => {
    const told: string[] = [];
    const unsubscribe = runtime.onChange((podUid) => told.push(podUid));
    const id = await started(runtime, containerConfig(vocabulary.exitAfter(0.01, 0)));
    await exited(runtime, id);
    await eventually(() => told.length > 0, 'a change was told');
    assert.deepEqual([...new Set(told)], ['u1']);
    unsubscribe();
    const count = told.length;
    await runtime.stopSandbox((await onlySandbox(runtime, 'u1')).id, 0);
    assert.equal(told.length, count);
  });

  check('creating in a sandbox that does not exist is NotFound', async ({ runtime }) => {
    await assert.rejects(runtime.createContainer('nowhere', containerConfig(vocabulary.runForever)), {
      code: 'NotFound',
    });
  });

  check('an image without a command', async ({ runtime }) => {
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const create = runtime.createContainer(sandbox, containerConfig([], { image: 'nginx:1.27' }));
    if (vocabulary.imagesWithoutCommand === 'refused')
      await assert.rejects(create, { code: 'Unsupported', message: /nginx:1\.27.*set the command of the container/ });
    else assert.notEqual(await create, '');
  });

  if (vocabulary.programs !== undefined) testPrograms(check, started, vocabulary.programs);
}

/** A shell needs a moment to set its traps; its first output shows that it has. */
async function settled(vocabulary: RuntimeVocabulary, runtime: ContainerRuntime, id: string): Promise<void> {
  const { programs } = vocabulary;
  if (programs === undefined) return;
  await eventually(async () => (await programs.output(await containerOf(runtime, id))) !== '', 'first output');
}

function testPrograms(
  check: (title: string, body: (harness: RuntimeHarness) => Promise<void>) => void,
  started: (runtime: ContainerRuntime, config: ContainerConfig, podUid?: string) => Promise<string>,
  programs: NonNullable<RuntimeVocabulary['programs']>,
): void {
  const printed = async (runtime: ContainerRuntime, config: ContainerConfig): Promise<string> =>
    programs.output(await exited(runtime, await started(runtime, config)));

  check('a command that does not exist is an exited container with StartError 128', async ({ runtime }) => {
    const status = await exited(runtime, await started(runtime, containerConfig(['no-such-program-here'])));
    assert.equal(status.exitCode, 128);
    assert.equal(status.reason, 'StartError');
    assert.match(status.message ?? '', /"no-such-program-here": executable file not found in \$PATH/);
  });

  check('environment is the given one, without anything of the host', async ({ runtime }) => {
    const output = await printed(runtime, containerConfig(programs.print('$(env)'), { env: { COLOR: 'blue moon' } }));
    const lines = output.trim().split('\n');
    assert.ok(lines.includes('COLOR=blue moon') && lines.includes('HOSTNAME=pod-u1'), output);
    const names = lines.map((line) => line.slice(0, line.indexOf('='))).toSorted();
    const ofShell = new Set(['PWD', 'OLDPWD', 'SHLVL', '_']);
    assert.deepEqual(
      names.filter((each) => !ofShell.has(each)),
      ['COLOR', 'HOME', 'HOSTNAME', 'PATH', ...programs.ownVariables].toSorted(),
    );
  });

  check('args follow the command', async ({ runtime }) => {
    const config = containerConfig(['/bin/sh', '-c', 'echo "$0|$1|$#"'], { args: ['zero', 'one two', 'three'] });
    assert.equal(await printed(runtime, config), 'zero|one two|2\n');
  });

  check('working directory: the given one, else one of its own', async ({ runtime }) => {
    assert.equal(await printed(runtime, containerConfig(programs.print('$PWD'), { workingDir: '/usr' })), '/usr\n');
    const own = await printed(runtime, containerConfig(programs.print('$PWD'), { name: 'other' }));
    assert.ok(own.length > 2 && own !== `${process.cwd()}\n`);
  });

  check('a working directory that is missing is made, or a StartError', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(['/bin/true'], { workingDir: '/no/such/place' }));
    const status = await exited(runtime, id);
    if (programs.missingWorkingDirectory === 'made') {
      assert.equal(status.exitCode, 0);
      return;
    }
    assert.equal(status.exitCode, 128);
    assert.match(status.message ?? '', /"\/no\/such\/place" does not exist/);
  });

  check('[SAFE-12] the whole tree of processes is gone when stop resolves', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(programs.forkChildren));
    await settledChildren(programs, runtime, id);
    await runtime.stopContainer(id, GRACE_MS);
    assert.equal(await programs.countChildren(await containerOf(runtime, id)), 0);
  });

  check('exec runs beside the container, and a timeout ends it', async ({ runtime }) => {
    const id = await started(runtime, containerConfig(['/bin/sh', '-c', 'sleep 600'], { env: { COLOR: 'red' } }));
    const result = await runtime.exec(id, ['/bin/sh', '-c', 'echo $COLOR; exit 4'], 5_000);
    assert.deepEqual(result, { exitCode: 4, output: 'red\n' });
    await assert.rejects(runtime.exec(id, ['/bin/sleep', '600'], 50), { code: 'Timeout' });
    await runtime.stopContainer(id, 50);
    await assert.rejects(runtime.exec(id, ['/bin/true'], 1_000), { code: 'IllegalState' });
  });
}

async function settledChildren(
  programs: NonNullable<RuntimeVocabulary['programs']>,
  runtime: ContainerRuntime,
  id: string,
): Promise<void> {
  await eventually(async () => (await programs.countChildren(await containerOf(runtime, id))) >= 3, 'three children');
}
