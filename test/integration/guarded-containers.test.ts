import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { createCriRuntime } from '@holdfast/kubelet/cri-runtime';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { ClassCgroups } from '../../services/kubelet/src/runtime/class-cgroups.ts';
import { containerConfig, eventually, sandboxConfig } from '../../services/kubelet/src/runtime/contract.ts';
import type { FencingClass } from '../../services/kubelet/src/runtime/fencing-deadline.ts';
import { type ContainerRuntime, RuntimeError } from '../../services/kubelet/src/runtime/port.ts';
import { directoryHash } from '../../services/kubelet/src/runtime/process/socket-path.ts';
import { TestContainerd } from '../support/containerd.ts';

const containerd = await TestContainerd.start();
after(() => containerd[Symbol.asyncDispose]());

const clock = createSystemClock();
/** Longer than any of these tests takes. */
const FAR_MS = 600_000;

class Scene {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'holdfast-guarded-'));
  readonly groups = new ClassCgroups(directoryHash(this.directory));
  runtime = this.#open();

  constructor(t: TestContext) {
    t.after(() => this.#dispose());
  }

  get guard(): NonNullable<ContainerRuntime['guard']> {
    return this.runtime.guard ?? assert.fail('the machine can end control groups');
  }

  async reopen(): Promise<void> {
    await this.runtime.close();
    this.runtime = this.#open();
  }

  async run(uid: string, fencing: FencingClass, startBeforeMs?: number): Promise<string> {
    const sandbox = await this.runtime.runSandbox({ ...sandboxConfig(uid), fencing });
    const id = await this.runtime.createContainer(
      sandbox,
      containerConfig(['/bin/sh', '-c', 'trap "" TERM; sleep 600 & sleep 600']),
    );
    await this.runtime.startContainer(id, startBeforeMs);
    return id;
  }

  async stateOf(id: string): Promise<string | undefined> {
    const sandboxes = await this.runtime.list();
    return sandboxes.flatMap(({ containers }) => containers).find((each) => each.id === id)?.state;
  }

  watchdogs(): readonly number[] {
    return pids().filter((pid) => read(`/proc/${pid}/cmdline`).includes(`watchdog-main.mjs\0${this.directory}\0`));
  }

  #open(): ContainerRuntime {
    return createCriRuntime({
      endpoint: containerd.endpoint,
      stateDirectory: this.directory,
      nodeName: 'n1',
      nodeAddress: () => '192.0.2.7',
      clock,
      log: createSilentLog(),
    });
  }

  async #dispose(): Promise<void> {
    this.guard.withdraw();
    const all = await this.runtime.list();
    await Promise.all(all.map(({ id }) => this.runtime.stopSandbox(id, 0)));
    await Promise.all(all.map(({ id }) => this.runtime.removeSandbox(id)));
    await this.runtime.close();
    await eventually(() => this.watchdogs().length === 0, 'the watchdog has ended');
    assert.deepEqual(this.#groupsLeft(), [], 'control groups are left');
    rmSync(this.directory, { recursive: true, force: true });
  }

  #groupsLeft(): readonly string[] {
    const name = path.dirname(this.groups.parent('exclusive'));
    const mounts = ['/sys/fs/cgroup', ...readdirSync('/sys/fs/cgroup').map((each) => `/sys/fs/cgroup/${each}`)];
    return mounts.map((mount) => mount + name).filter((each) => existsSync(each));
  }
}

const pids = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const processesOf = (containerId: string): number =>
  pids().filter((pid) => read(`/proc/${pid}/cgroup`).includes(containerId)).length;

const isFenced = (error: unknown): boolean => error instanceof RuntimeError && error.code === 'Fenced';

test('[SAFE-32] at the deadline the containers of exclusive pods are killed, and no others, without a kubelet', async (t) => {
  const scene = new Scene(t);
  const { guard } = scene;
  await guard.ready();
  guard.extend(guard.now() + FAR_MS, 'exclusive');
  const exclusive = await scene.run('u1', 'exclusive', guard.deadline());
  const other = await scene.run('u2', 'other');
  const own = await scene.run('u3', 'never');
  await guard.ready();
  await scene.runtime.close();
  assert.equal(scene.watchdogs().length, 1, 'it outlives the kubelet');
  const file = path.join(scene.directory, 'fencing-deadline');
  const { untilMs, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as { untilMs: number };
  assert.ok(untilMs > guard.now());
  writeFileSync(file, `${JSON.stringify({ ...rest, untilMs: guard.now() + 300 }).padEnd(127)}\n`);
  await eventually(() => processesOf(exclusive) === 0, 'the exclusive pod is dead');
  assert.ok(processesOf(other) >= 2 && processesOf(own) >= 2);
  await scene.reopen();
  await eventually(async () => (await scene.stateOf(exclusive)) === 'exited', 'the runtime has noticed it');
});

test('[SAFE-32] a container that starts after the deadline does not run', async (t) => {
  const scene = new Scene(t);
  const { guard, groups } = scene;
  guard.extend(guard.now(), 'exclusive');
  const marker = path.join(scene.directory, 'ran');
  // What a runtime does: it moves the first process into the group, and then lets it begin.
  const script = `read line; echo ran > ${marker}`;
  const late = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise((resolve) => late.once('exit', resolve));
  const roots = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].map((root) => root + groups.parent('exclusive'));
  const group = roots.find((root) => existsSync(path.join(root, 'cgroup.kill'))) ?? assert.fail('the group exists');
  writeFileSync(path.join(group, 'cgroup.procs'), String(late.pid));
  late.stdin.end('go\n');
  const isHeld = (events: string): boolean => events.includes('populated 1') && events.includes('frozen 1');
  await eventually(() => isHeld(read(path.join(group, 'cgroup.events'))), 'it is held in the frozen group');
  guard.extend(guard.now(), 'exclusive');
  await ended;
  assert.ok(!existsSync(marker));
});

test('a start without confirmation, or after its deadline, is refused, and one that was confirmed is not', async (t) => {
  const scene = new Scene(t);
  const { guard } = scene;
  guard.extend(guard.now() + FAR_MS, 'exclusive');
  await assert.rejects(scene.run('u1', 'exclusive'), isFenced);
  await assert.rejects(scene.run('u1', 'exclusive', guard.now() - 1), isFenced);
  const id = await scene.run('u1', 'exclusive', guard.deadline());
  assert.equal(await scene.stateOf(id), 'running');
});

test('after the deadline pods start again, and a container whose start has no known outcome is removed before', async (t) => {
  const scene = new Scene(t);
  const { guard, groups, directory } = scene;
  guard.extend(guard.now() + FAR_MS, 'exclusive');
  const first = await scene.run('u1', 'exclusive', guard.deadline());
  const sandbox = await scene.runtime.runSandbox({ ...sandboxConfig('u2'), fencing: 'exclusive' });
  const sent = await scene.runtime.createContainer(sandbox, containerConfig(['/bin/sleep', '600']));
  // As if a kubelet had ended between its request and the answer.
  writeFileSync(path.join(directory, 'starts', sent), '');
  await scene.reopen();
  scene.guard.extend(guard.now(), 'exclusive');
  await eventually(() => processesOf(first) === 0, 'the pod is dead');
  await eventually(async () => (await scene.stateOf(first)) === 'exited', 'the runtime has noticed it');
  await assert.rejects(scene.guard.ready(), isFenced);
  await eventually(async () => (await scene.stateOf(sent)) === undefined, 'the container is removed');
  await scene.guard.ready();
  assert.ok(groups.isFrozen('exclusive'), 'its deadline has passed');
  scene.guard.extend(guard.now() + FAR_MS, 'exclusive');
  await scene.run('u3', 'exclusive', guard.now() + FAR_MS);
  assert.ok(!groups.isFrozen('exclusive'));
});
