import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { ClassCgroups, COVERED_CLASSES, type CoveredClass } from '../class-cgroups.ts';
import { sandboxConfig } from '../contract.ts';
import { groupsRefusal } from '../cri/health.ts';
import { type ContainerRuntime, type ContainerStatus, RuntimeError, type SandboxStatus } from '../port.ts';
import { createDeadlineFile } from '../process/deadline-file.ts';
import { readDevicePath } from '../process/watchdog-device.ts';
import { ContainerGuard } from './container-guard.ts';
import { GuardedContainers } from './guarded-runtime.ts';
import { guarded } from './index.ts';
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
  /** What a stop does. */
  onStop: (id: string) => void = (id) => this.setState(id, 'exited');
  /** What the removal of a container does. */
  onRemove: (id: string) => void = (id) => {
    throw new RuntimeError('IllegalState', `${id} is being started`);
  };
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
      placed: () => this.containers.placed(this.guard),
      hasSentStarts: () => this.records.ids.length > 0,
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
    const answers: Pick<
      ContainerRuntime,
      'list' | 'removeContainer' | 'runSandbox' | 'startContainer' | 'stopContainer'
    > = {
      stopContainer: async (id, graceMs) => {
        this.calls.push(`stop ${id} after ${graceMs}`);
        this.onStop(id);
      },
      removeContainer: async (id) => this.onRemove(id),
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

test('[SAFE-32] an orderly stop leaves a frozen group while a start is on its way: made anew, it would not be frozen', (t) => {
  const scene = new Scene(t);
  // Files of a control group do not keep it from being removed.
  for (const each of COVERED_CLASSES) rmSync(join(scene.group(each), 'cgroup.kill'));
  rmSync(join(scene.group('other'), 'cgroup.freeze'));
  writeFileSync(join(scene.group('exclusive'), 'cgroup.freeze'), '1');
  // The runtime's own group of the class in a hierarchy of version 1.
  const beside = join(scene.mounts, 'cpu', scene.groups.parent('exclusive'));
  mkdirSync(beside, { recursive: true });
  const left = (): readonly boolean[] =>
    [scene.group('exclusive'), beside, scene.group('other')].map((each) => existsSync(each));
  scene.records.add('c1');
  scene.guard.close();
  assert.deepEqual(left(), [true, true, false]);
  scene.records.remove('c1');
  scene.guard.close();
  assert.deepEqual(left(), [true, false, false], 'only the file that stands for one of the kernel keeps it');
});

test('a container that stays created after a failed start is removed, so that its class is thawed', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.onStart = () => {
    throw new RuntimeError('Internal', 'no such command');
  };
  await assert.rejects(scene.start(id), /no such command/);
  scene.guard.extend(scene.now, 'exclusive');
  scene.guard.extend(scene.now + FAR_MS, 'exclusive');
  await assert.rejects(scene.guard.ready(), isFenced, 'its removal is refused: it may be starting');
  const removed: string[] = [];
  scene.onRemove = (each) => void removed.push(each);
  await assert.rejects(scene.guard.ready(), isFenced, 'it does not wait for the removal');
  await scene.guard.ready();
  assert.deepEqual([removed, scene.records.ids, scene.groups.isFrozen('exclusive')], [[id], [], false]);
});

test('a start whose outcome is unknown keeps no pod of another class from starting', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  const other = scene.addPlaced('u2', 'other');
  scene.records.add(id);
  scene.guard.extend(scene.now, 'exclusive');
  scene.onStart = () => scene.place('other', other);
  await scene.containers.runSandbox({ ...sandboxConfig('u3'), fencing: 'other' }, scene.guard);
  await scene.start(other);
  assert.deepEqual(scene.calls.at(-1), `start ${other}`);
  await assert.rejects(scene.start(id, scene.now + 1), isFenced);
});

test('processes of a group that another call has thawed do not count as those that the deadline killed', async (t) => {
  const scene = new Scene(t);
  scene.guard.extend(scene.now, 'exclusive');
  scene.guard.extend(scene.now + FAR_MS, 'exclusive');
  writeFileSync(join(scene.group('exclusive'), 'cgroup.events'), 'populated 1\nfrozen 1\n');
  const settling = scene.guard.settle();
  scene.groups.thaw('exclusive');
  await settling;
});

test('the record of a start ends with its container, and with its sandbox', async (t) => {
  const scene = new Scene(t);
  const ids = ['u1', 'u2', 'u3'].map((uid) => scene.addPlaced(uid, 'exclusive'));
  scene.onStart = () => {
    throw new RuntimeError('Internal', 'no such command');
  };
  for (const id of ids) await assert.rejects(scene.start(id));
  scene.containers.forget(ids[0] ?? '');
  scene.containers.forget('sandbox-of-u2');
  assert.deepEqual(scene.records.ids, [ids[2]]);
});

test('nothing is promised beside a container that an earlier kubelet left outside its group', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.setState(id, 'running');
  await assert.rejects(scene.guard.ready(), /outside the control group/);
  // It has ended, and the runtime reports it a moment later.
  clock.timer(60, () => scene.setState(id, 'exited'));
  await scene.guard.ready();
  const later = new Scene(t);
  later.setState(later.add('u1', { fencing: 'exclusive' }), 'running');
  later.sandboxes.splice(0, 1, ...later.sandboxes.map((each) => ({ ...each, state: 'notReady' as const })));
  await assert.rejects(later.guard.ready(), /without a control group of its class/);
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
  assert.deepEqual(scene.calls, [`start ${id}`], 'without a promise it runs');
  const other = new Scene(t);
  other.refusal = 'units of systemd';
  await assert.rejects(other.guard.ready(), /units of systemd/);
});

test('a container that the runtime puts elsewhere while a deadline is in force is ended at once', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.guard.extend(scene.now + FAR_MS, 'exclusive');
  scene.onStart = () => undefined;
  await assert.rejects(scene.start(id, scene.now + FAR_MS), /outside the control group/);
  assert.deepEqual(scene.calls, [`start ${id}`, `stop ${id} after 0`]);
});

test('[SAFE-32] a container elsewhere that could not be ended is ended by a later renewal, also of the next kubelet', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  scene.guard.extend(scene.now + FAR_MS, 'exclusive');
  scene.onStart = () => undefined;
  const stopped: string[] = [];
  scene.onStop = () => {
    throw new RuntimeError('Unavailable', 'no answer');
  };
  await assert.rejects(scene.start(id, scene.now + FAR_MS), /no answer/);
  const stop = (each: string): void => {
    stopped.push(each);
    scene.setState(each, 'exited');
  };
  scene.onStop = stop;
  await assert.rejects(scene.guard.ready(), /outside the control group/);
  assert.deepEqual(stopped, [id]);
  await assert.rejects(scene.guard.ready(), /outside the control group/);
  assert.deepEqual(stopped, [id], 'once');
  const later = new Scene(t);
  const stray = later.addPlaced('u1', 'exclusive');
  later.setState(stray, 'running');
  later.guard.extend(later.now + FAR_MS, 'exclusive');
  await assert.rejects(later.guard.ready(), /outside the control group/);
  assert.deepEqual(later.calls, [`stop ${stray} after 0`]);
  await later.guard.ready();
});

test('a container that ends before its group is looked at counts as placed', async (t) => {
  const scene = new Scene(t);
  const id = scene.addPlaced('u1', 'exclusive');
  // The runtime has removed the group, and reports the end a moment later.
  scene.onStart = () => clock.timer(60, () => scene.setState(id, 'exited'));
  await scene.start(id);
  await scene.guard.ready();
});

test('[FENCE-06] a runtime of containers has its watchdog use the device of the machine, or says that it does not', async (t) => {
  const device = '/dev/watchdog';
  const told: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void told.push(message) };
  const { directory: stateDirectory, groups, mounts } = new Scene(t);
  const options = { stateDirectory, clock, log, refusal: () => Promise.resolve(undefined) };
  const runtime = { close: () => Promise.resolve() } as ContainerRuntime;
  const openWith = async (watchdogDevice: string | undefined): Promise<string | undefined> => {
    await guarded(runtime, { ...options, groups, watchdogDevice }).close();
    return readDevicePath(stateDirectory);
  };
  assert.equal(await openWith(device), device);
  assert.equal(await openWith(undefined), undefined);
  for (const each of COVERED_CLASSES) rmSync(join(mounts, groups.parent(each), 'cgroup.kill'));
  assert.deepEqual([await openWith(device), told], [undefined, ['the watchdog device is not used']]);
});

test('groups that the kernel cannot kill are not left behind', (t) => {
  const mounts = mkdtempSync(join(tmpdir(), 'holdfast-groups-'));
  t.after(() => rmSync(mounts, { recursive: true, force: true }));
  assert.equal(new ClassCgroups('node', mounts).prepare(), false);
  assert.deepEqual(readdirSync(mounts), []);
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
