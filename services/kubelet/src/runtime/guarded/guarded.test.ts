import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { ClassCgroups, COVERED_CLASSES, type CoveredClass } from '../class-cgroups.ts';
import { sandboxConfig } from '../contract.ts';
import { groupsRefusal } from '../cri/health.ts';
import { type ContainerRuntime, type ContainerStatus, RuntimeError, type SandboxStatus } from '../port.ts';
import { createDeadlineFile } from '../process/deadline-file.ts';
import { ContainerGuard } from './container-guard.ts';
import { GuardedContainers } from './guarded-runtime.ts';
import { StartRecords } from './start-records.ts';

const clock = createSystemClock();
const FAR_MS = 600_000;

/** Control groups as plain files, and a runtime that answers what the test says. */
class Scene {
  readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-guarded-'));
  readonly mounts = join(this.directory, 'cgroup');
  readonly groups = new ClassCgroups('node', this.mounts);
  readonly sandboxes: SandboxStatus[] = [];
  readonly calls: string[] = [];
  refusal: string | undefined;
  now = 1_000;
  /** What a start does. */
  onStart: (id: string) => void = (id) => this.place('exclusive', id);
  readonly records: StartRecords;
  readonly containers: GuardedContainers;
  readonly guard: ContainerGuard;

  constructor(t: TestContext) {
    t.after(() => rmSync(this.directory, { recursive: true, force: true }));
    for (const each of COVERED_CLASSES) {
      mkdirSync(this.group(each), { recursive: true });
      for (const file of ['cgroup.freeze', 'cgroup.kill']) writeFileSync(join(this.group(each), file), '0');
    }
    this.records = new StartRecords(this.directory);
    const { groups, records } = this;
    this.containers = new GuardedContainers({
      runtime: this.#runtime(),
      clock,
      groups,
      records,
      refusal: () => Promise.resolve(this.refusal),
    });
    this.guard = new ContainerGuard({
      clock,
      log: createSilentLog(),
      now: () => this.now,
      groups,
      file: createDeadlineFile(this.directory, 'boot'),
      watchdog: () => Promise.resolve(),
      placed: () => this.containers.placed(),
      unsettledStarts: () => this.containers.unsettledStarts(),
    });
    t.after(() => this.guard.close());
  }

  group(fencing: CoveredClass): string {
    return join(this.mounts, this.groups.parent(fencing));
  }

  place(fencing: CoveredClass, id: string): void {
    mkdirSync(join(this.group(fencing), id));
  }

  wasKilled(fencing: CoveredClass): boolean {
    return readFileSync(join(this.group(fencing), 'cgroup.kill'), 'utf8') === '1';
  }

  /** Adds a sandbox with one container that was created. */
  add(uid: string, config: Partial<SandboxStatus['config']>): string {
    const id = `container-of-${uid}`;
    const container = { id, state: 'created', createdAt: 1, config: { name: 'main', image: 'x', restartCount: 0 } };
    this.sandboxes.push({
      id: `sandbox-of-${uid}`,
      config: { ...sandboxConfig(uid), ...config },
      state: 'ready',
      createdAt: 1,
      ip: '',
      volumesPath: '',
      containers: [container as ContainerStatus],
    });
    return id;
  }

  /** Adds one as the guard makes it. */
  addPlaced(uid: string, fencing: CoveredClass): string {
    return this.add(uid, { fencing, cgroupParent: this.groups.parent(fencing) });
  }

  setState(id: string, state: ContainerStatus['state']): void {
    for (const { containers } of this.sandboxes)
      for (const container of containers) if (container.id === id) Object.assign(container, { state });
  }

  start(id: string, startBeforeMs?: number): Promise<void> {
    return this.containers.startContainer(id, startBeforeMs, this.guard);
  }

  #runtime(): ContainerRuntime {
    const answers: Pick<ContainerRuntime, 'list' | 'runSandbox' | 'startContainer'> = {
      list: () => Promise.resolve(this.sandboxes),
      runSandbox: ({ podUid, cgroupParent }) => {
        this.calls.push(`run ${podUid} in ${cgroupParent ?? 'none'}`);
        return Promise.resolve(podUid);
      },
      startContainer: async (id) => {
        this.calls.push(`start ${id}`);
        this.onStart(id);
        this.setState(id, 'running');
      },
    };
    return answers as ContainerRuntime;
  }
}

const isFenced = (error: unknown): boolean => error instanceof RuntimeError && error.code === 'Fenced';

test('pods are placed in the group of their class, and those that no deadline ends in none', async (t) => {
  const scene = new Scene(t);
  for (const fencing of ['exclusive', 'other', 'never'] as const)
    await scene.containers.runSandbox({ ...sandboxConfig(fencing), fencing }, scene.guard);
  const groups = COVERED_CLASSES.map((each) => `run ${each} in ${scene.groups.parent(each)}`);
  assert.deepEqual(scene.calls, [...groups, 'run never in none']);
});

test('[SAFE-32] a past deadline freezes and kills the groups that its policy covers', (t) => {
  const scene = new Scene(t);
  scene.guard.extend(scene.now, 'exclusive');
  assert.deepEqual([scene.groups.isFrozen('exclusive'), scene.wasKilled('exclusive')], [true, true]);
  assert.deepEqual([scene.groups.isFrozen('other'), scene.wasKilled('other')], [false, false]);
  scene.guard.extend(scene.now, 'all');
  assert.deepEqual([scene.groups.isFrozen('other'), scene.wasKilled('other')], [true, true]);
});

test('a start is sent only with a confirmation whose deadline is to come', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.guard.extend(scene.now + FAR_MS, 'exclusive');
  await assert.rejects(scene.start(id), isFenced);
  await assert.rejects(scene.start(id, scene.now), isFenced);
  assert.deepEqual([scene.calls, scene.records.ids], [[], []]);
  await scene.start(id, scene.now + 1);
  assert.deepEqual([scene.calls, scene.records.ids], [[`start ${id}`], []]);
});

test('a class stays frozen while a start without a known outcome may still happen', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.guard.extend(scene.now + 10, 'exclusive');
  scene.onStart = () => {
    throw new RuntimeError('Unavailable', 'no answer');
  };
  await assert.rejects(scene.start(id, scene.now + 10));
  scene.now += 10;
  scene.guard.extend(scene.now, 'exclusive');
  await assert.rejects(scene.guard.ready(), isFenced);
  const next = new StartRecords(scene.directory);
  assert.deepEqual(next.ids, [id], 'the next kubelet knows of it');
  scene.guard.withdraw();
  await assert.rejects(scene.start(id, undefined), isFenced, 'also without a promise');
  assert.ok(scene.groups.isFrozen('exclusive'));
  scene.setState(id, 'exited');
  await scene.guard.ready();
  assert.ok(!scene.groups.isFrozen('exclusive'));
});

test('a class is not thawed before its deadline has moved', async (t) => {
  const scene = new Scene(t);
  scene.guard.extend(scene.now, 'exclusive');
  await scene.guard.ready();
  assert.ok(scene.groups.isFrozen('exclusive'));
  scene.guard.extend(scene.now + FAR_MS, 'exclusive');
  await scene.guard.ready();
  assert.ok(!scene.groups.isFrozen('exclusive'));
});

test('nothing is promised beside a pod that was started without its group', async (t) => {
  const scene = new Scene(t);
  scene.add('static', { fencing: 'never' });
  scene.addPlaced('placed', 'other');
  await scene.guard.ready();
  const later = new Scene(t);
  later.add('u1', { fencing: 'exclusive' });
  await assert.rejects(later.guard.ready(), /without a control group of its class/);
});

test('nothing is promised when the runtime puts a container elsewhere, or cannot place it', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.onStart = () => undefined;
  await scene.start(id);
  await assert.rejects(scene.guard.ready(), /outside the control group/);
  const other = new Scene(t);
  other.refusal = 'units of systemd';
  await assert.rejects(other.guard.ready(), /units of systemd/);
});

test('a container that ends before its group is looked at counts as placed', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  // The runtime has removed the group, and reports the end a moment later.
  scene.onStart = () => clock.timer(60, () => scene.setState(id, 'exited'));
  await scene.start(id);
  await scene.guard.ready();
});

test('the cgroup driver of containerd is read from its configuration', () => {
  const configured = (options: object | null): string =>
    JSON.stringify({ containerd: { runtimes: { runc: { options } } } });
  assert.equal(groupsRefusal(configured({ SystemdCgroup: false })), undefined);
  assert.equal(groupsRefusal(configured(null)), undefined);
  assert.match(groupsRefusal(configured({ SystemdCgroup: true })) ?? '', /systemd/);
  assert.match(groupsRefusal('{"systemdCgroup":true,"containerd":{"runtimes":{}}}') ?? '', /systemd/);
  assert.match(groupsRefusal(undefined) ?? '', /does not report/);
  assert.match(groupsRefusal('{}') ?? '', /does not report/);
});
