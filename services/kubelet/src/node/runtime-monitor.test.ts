import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { eventually } from '../runtime/contract.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import type { ContainerRuntime, RuntimeHealth } from '../runtime/port.ts';
import { RuntimeMonitor } from './runtime-monitor.ts';

class World {
  readonly changes: (string | undefined)[] = [];
  returns = 0;
  health: RuntimeHealth | undefined = {};
  #fire: (() => void) | undefined;
  readonly monitor: RuntimeMonitor;

  constructor(change: Partial<ContainerRuntime> = {}) {
    const system = createSystemClock();
    const clock: Clock = {
      ...system,
      timer: (_delayMs, fire) => {
        this.#fire = fire;
        return { cancel: () => undefined };
      },
    };
    const runtime: ContainerRuntime = {
      ...createHollowRuntime({ clock: system, random: createSeededRandom(1, 'monitor') }),
      health: async () => this.health ?? Promise.reject(new Error('nobody answers')),
      ...change,
    };
    this.monitor = new RuntimeMonitor({
      runtime,
      runtimeName: 'containerd',
      clock,
      log: createSilentLog(),
      onChange: () => this.changes.push(this.monitor.fault()?.reason),
      onReturn: () => this.returns++,
    });
  }

  async look(): Promise<void> {
    const fire = await eventually(() => this.#fire, 'the last look is through');
    this.#fire = undefined;
    fire();
    await eventually(() => this.#fire !== undefined, 'this look is through');
  }
}

test('an unavailable runtime is an error; when it is back all pods are synced', async () => {
  const world = new World();
  world.monitor.start();
  await world.look();
  assert.equal(world.monitor.fault(), undefined);
  world.health = undefined;
  await world.look();
  assert.equal(world.monitor.fault()?.reason, 'container runtime is down: nobody answers');
  await world.look();
  assert.equal(world.returns, 0);
  world.health = {};
  await world.look();
  assert.equal(world.returns, 1);
  assert.deepEqual(world.changes, ['container runtime is down: nobody answers', undefined]);
});

test('the runtime and network conditions of the runtime become conditions of the node', async () => {
  const world = new World();
  world.health = { networkFault: 'container runtime network not ready: x' };
  world.monitor.start();
  await world.look();
  assert.equal(world.monitor.fault()?.reason, 'container runtime network not ready: x');
  world.health = { ...world.health, runtimeFault: 'container runtime not ready: y' };
  await world.look();
  assert.equal(world.monitor.fault()?.reason, 'container runtime not ready: y');
});

test('the last known version is reported while the runtime does not answer', async () => {
  let version: Promise<string> = Promise.reject(new Error('away'));
  version.catch(() => undefined);
  const { monitor } = new World({ version: () => version });
  assert.equal(await monitor.version(), 'containerd://Unknown');
  version = Promise.resolve('containerd://2.0');
  assert.equal(await monitor.version(), 'containerd://2.0');
  version = Promise.reject(new Error('away'));
  assert.equal(await monitor.version(), 'containerd://2.0');
});

test('a node reports its largest images, with a limited number of names each', async () => {
  const images = Array.from({ length: 60 }, (_, at) => ({
    id: String(at),
    names: Array.from({ length: 9 }, (_each, name) => `i${at}:${name}`),
    sizeBytes: at,
  }));
  const refuse = (): never => assert.fail('not asked for');
  const { monitor } = new World({
    images: { list: async () => images, status: refuse, pull: refuse, remove: refuse, used: refuse, directory: refuse },
  });
  const shown = (await monitor.images()) ?? [];
  assert.deepEqual([shown.length, shown[0]?.sizeBytes, shown[0]?.names?.length], [50, 59, 5]);
  assert.equal(await new World().monitor.images(), undefined);
});
