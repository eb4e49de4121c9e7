import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type KubeObject,
  type Lease,
  type Node,
  promiseOf,
  SELF_FENCING_BROKEN,
  type SelfFencingPolicy,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { conflict, MODIFIED_CONCURRENTLY } from '@holdfast/machinery';
import { createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { newNode } from '../domain/node-status.ts';
import { hollowNodeFacts } from '../node/hollow-facts.ts';
import type { FencingClass } from '../runtime/fencing-deadline.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import type { ExclusiveGuard } from '../runtime/port-guard.ts';
import { GUARD_READY_MS, LAPSE_SETTLE_MS, PROMISE_RENEW_MS, PROMISE_SECONDS, WITHDRAW_MS } from './limits.ts';
import { PromiseKeeper, PromiseWait } from './promise-keeper.ts';

const D_MS = PROMISE_SECONDS * 1000;

/** One node, its machine, and an API that may be disconnected. */
class World {
  readonly clock = createVirtualClock();
  readonly runtime = createHollowRuntime({ clock: this.clock, random: createSeededRandom(1, 'promise') });
  /** What keeps the promise on the machine does not answer. */
  guardHangs = false;
  readonly guard = this.#guard();
  readonly node: Node = {
    ...newNode({
      facts: hollowNodeFacts({ name: 'n', address: '192.0.2.1' }),
      runtimeVersion: 'h',
      notReady: undefined,
      now: 0,
    }),
  };
  lease: Lease | undefined;
  isCut = false;
  /** Reads are answered, writes are not. */
  losesWrites = false;
  /** Writes happen, their answers are lost. */
  losesAnswers = false;
  /** The delay of a write's response. */
  slowMs = 0;
  writes = 0;
  keeper = this.boot();

  boot(policy: SelfFencingPolicy | 'off' = 'exclusive', promiseSeconds?: number): PromiseKeeper {
    return new PromiseKeeper({
      client: this.#client() as ApiClient,
      clock: this.clock,
      log: createSilentLog(),
      nodeName: 'n',
      holder: 'machine/boot',
      policy: policy === 'off' ? undefined : policy,
      promiseSeconds,
      guard: this.guard,
      runtime: this.runtime,
      onChange: () => {},
    });
  }

  #guard(): ExclusiveGuard {
    const guard = this.runtime.guard ?? assert.fail('the hollow runtime has a guard');
    return { ...guard, ready: () => (this.guardHangs ? new Promise(() => {}) : guard.ready()) };
  }

  runExclusive(): Promise<void> {
    return this.run('exclusive', this.keeper.startBefore());
  }

  async run(fencing: FencingClass, startBefore?: number): Promise<void> {
    const base = { podNamespace: 'default', hostname: 'db-0', attempt: 0, fencing } as const;
    const sandbox = await this.runtime.runSandbox({ ...base, podUid: `u-${fencing}`, podName: 'db-0' });
    const config = { name: 'main', image: 'i', command: ['stop-after', '8'], args: [], env: {}, restartCount: 0 };
    const id = await this.runtime.createContainer(sandbox, config);
    const started = this.runtime.startContainer(id, startBefore);
    await this.clock.advance(50);
    await started;
  }

  /** The kubelet is gone without a word. */
  async crash(): Promise<void> {
    this.isCut = true;
    const stopping = this.keeper.stop();
    await this.clock.advance(WITHDRAW_MS);
    await stopping;
    this.isCut = false;
  }

  async seconds(count: number): Promise<void> {
    for (let second = 0; second < count; second++) await this.clock.advance(1_000);
  }

  async alive(): Promise<number> {
    const sandboxes = await this.runtime.list();
    return sandboxes.flatMap(({ containers }) => containers).filter(({ state }) => state === 'running').length;
  }

  async #late<T>(answer: Promise<T>): Promise<T> {
    const stored = await answer;
    if (this.losesAnswers) return new Promise(() => {});
    if (this.slowMs > 0) await this.clock.sleep(this.slowMs);
    return stored;
  }

  #client(): Partial<ApiClient> {
    const never = <T>(): Promise<T> => new Promise(() => {});
    const write = <T extends KubeObject>(object: T): Promise<T> => {
      if (this.isCut || this.losesWrites) return never();
      if ((object.metadata.resourceVersion ?? '') !== (this.lease?.metadata.resourceVersion ?? ''))
        return Promise.reject(conflict({ group: '', resource: 'leases', name: 'n' }, MODIFIED_CONCURRENTLY));
      this.writes++;
      const resourceVersion = String(this.writes + 1_000 * Number(this.lease?.metadata.resourceVersion ?? 0));
      const stored = { ...object, metadata: { ...object.metadata, resourceVersion } };
      this.lease = stored as unknown as Lease;
      return Promise.resolve(stored);
    };
    return {
      find: <T extends KubeObject>() =>
        this.isCut ? never<T>() : Promise.resolve(this.lease as unknown as T | undefined),
      create: (_resource, object) => this.#late(write(object)),
      update: (_resource, object) => this.#late(write(object)),
    };
  }
}

async function promised(): Promise<World> {
  const world = new World();
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  return world;
}

test('the lease states the promise: duration, policy, machine and boot; its deadline counts from the request', async () => {
  const world = await promised();
  assert.deepEqual(promiseOf(world.lease), {
    policy: 'exclusive',
    holder: 'machine/boot',
    durationMs: D_MS,
    isBroken: false,
  });
  assert.equal(world.lease?.spec?.holderIdentity, 'n');
  assert.equal(world.guard.deadline(), D_MS);
  await world.clock.advance(PROMISE_RENEW_MS);
  assert.equal(world.guard.deadline(), PROMISE_RENEW_MS + D_MS);
});

test('[SAFE-32] a node that is cut off ends its exclusive pods at the deadline, though its kubelet is stuck', async () => {
  const world = await promised();
  await world.runExclusive();
  world.isCut = true;
  const deadline = world.guard.deadline() ?? 0;
  await world.clock.advance(deadline - world.guard.now() - 1);
  assert.equal(await world.alive(), 1);
  await world.clock.advance(1);
  assert.equal(await world.alive(), 0);
  assert.throws(() => world.keeper.startBefore(), PromiseWait);
});

test('after a lapse the next promise waits until all covered pods are dead, and clears the condition of the control plane', async () => {
  const world = await promised();
  await world.runExclusive();
  const lease = world.lease ?? assert.fail('there is a lease');
  const annotations = { ...lease.metadata.annotations, [SELF_FENCING_BROKEN]: 'now' };
  world.lease = { ...lease, metadata: { ...lease.metadata, annotations, resourceVersion: '77' } };
  // Broken too early, by a mistake or a wrong clock. The node accepts it.
  await world.clock.advance(PROMISE_RENEW_MS + 600);
  assert.equal(await world.alive(), 0);
  assert.equal(promiseOf(world.lease)?.isBroken, true, 'not before everything has settled');
  await world.clock.advance(LAPSE_SETTLE_MS + 1_000);
  assert.equal(promiseOf(world.lease)?.isBroken, false);
  assert.ok((world.keeper.startBefore() ?? 0) > world.guard.now());
});

test('an API that acknowledges renewals late, but before they expire, ends nothing', async () => {
  const world = await promised();
  await world.runExclusive();
  world.slowMs = 4_000;
  for (let second = 0; second < 5 * PROMISE_SECONDS; second++) await world.clock.advance(1_000);
  assert.equal(await world.alive(), 1);
  world.isCut = true;
  for (let second = 0; second < PROMISE_SECONDS; second++) await world.clock.advance(1_000);
  assert.equal(await world.alive(), 0);
});

test('a guard that does not answer costs the promise, not the pods, and no renewal waits for it', async () => {
  const world = await promised();
  await world.runExclusive();
  world.guardHangs = true;
  await world.clock.advance(PROMISE_RENEW_MS + GUARD_READY_MS);
  assert.equal(promiseOf(world.lease), undefined);
  assert.equal(world.guard.deadline(), undefined);
  await world.seconds(2 * PROMISE_SECONDS);
  assert.equal(await world.alive(), 1);
  world.guardHangs = false;
  await world.seconds(PROMISE_SECONDS);
  assert.equal(promiseOf(world.lease)?.policy, 'exclusive');
});

test('a first promise with a lost answer counts from its request: it may be in force', async () => {
  const world = new World();
  world.losesWrites = true;
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  assert.equal(world.guard.deadline(), D_MS);
  assert.equal(world.keeper.isPromising(), true);
});

test('a kubelet that stops withdraws the promise, and its pods live on', async () => {
  const world = await promised();
  await world.runExclusive();
  await world.keeper.stop();
  assert.equal(promiseOf(world.lease), undefined);
  assert.equal(world.guard.deadline(), undefined);
  await world.clock.advance(10 * D_MS);
  assert.equal(await world.alive(), 1);
});

test('a kubelet restarted within the deadline keeps the promise of the one before', async () => {
  const world = await promised();
  await world.runExclusive();
  const later = world.boot();
  later.begin(world.node);
  await world.clock.advance(3 * D_MS);
  assert.equal(await world.alive(), 1);
});

test('without a watchdog the node promises nothing, and exclusive pods start as usual', async () => {
  const world = new World();
  world.guard.ready = () => Promise.reject(new Error('no watchdog'));
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  assert.equal(promiseOf(world.lease), undefined);
  assert.equal(world.keeper.startBefore(), undefined);
});

async function crashed(): Promise<World> {
  const world = await promised();
  await world.runExclusive();
  await world.crash();
  return world;
}

for (const [when, waitMs, alive] of [
  ['within the deadline', 0, 1],
  ['after it', 2 * D_MS, 0],
] as const) {
  test(`a kubelet that starts without self-fencing ${when} withdraws the promise of the one before it`, async () => {
    const world = await crashed();
    await world.clock.advance(waitMs);
    world.keeper = world.boot('off');
    world.keeper.begin(world.node);
    await world.seconds(2 * PROMISE_SECONDS);
    assert.equal(promiseOf(world.lease), undefined);
    assert.equal(world.guard.deadline(), undefined);
    assert.equal(world.keeper.startBefore(), undefined);
    assert.equal(await world.alive(), alive);
  });
}

test('a promise that cannot be withdrawn stays in force: its deadline is enforced', async () => {
  const world = await crashed();
  world.losesWrites = true;
  world.keeper = world.boot('off');
  world.keeper.begin(world.node);
  await world.seconds(PROMISE_SECONDS);
  assert.notEqual(promiseOf(world.lease), undefined);
  assert.equal(await world.alive(), 0);
  assert.throws(() => world.keeper.startBefore(), PromiseWait);
});

test('[SAFE-32] a missing deadline while the promise holds is a lapse: exclusive pods are ended at once', async () => {
  const world = await promised();
  await world.runExclusive();
  world.guard.withdraw();
  await world.clock.advance(PROMISE_RENEW_MS);
  assert.equal(await world.alive(), 0);
  assert.throws(() => world.keeper.startBefore(), PromiseWait);
  await world.seconds(4);
  assert.ok((world.keeper.startBefore() ?? 0) > world.guard.now(), 'then the node promises again');
});

test('[SAFE-32] a missing deadline after a kubelet restart is a lapse too', async () => {
  const world = await crashed();
  world.guard.withdraw();
  world.keeper = world.boot();
  world.keeper.begin(world.node);
  await world.clock.advance(LAPSE_SETTLE_MS / 2);
  assert.equal(await world.alive(), 0);
  assert.throws(() => world.keeper.startBefore(), PromiseWait);
});

test('[SAFE-32] a promise for more pods covers them before it is sent: its answer may be lost', async () => {
  const world = await crashed();
  await world.run('other');
  assert.equal(await world.alive(), 2);
  world.losesAnswers = true;
  world.keeper = world.boot('all');
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  assert.equal(promiseOf(world.lease)?.policy, 'all', 'the control plane releases every pod of the node');
  world.isCut = true;
  await world.seconds(PROMISE_SECONDS);
  assert.equal(await world.alive(), 0);
});

test('after a lapse under a narrower policy the next promise does not wait for pods that are not ended', async () => {
  const world = await crashed();
  await world.run('other');
  await world.clock.advance(2 * D_MS);
  assert.equal(await world.alive(), 1, 'the exclusive one is dead');
  world.keeper = world.boot('all');
  world.keeper.begin(world.node);
  await world.seconds(4);
  assert.equal(promiseOf(world.lease)?.policy, 'all');
  assert.equal(world.guard.policy(), 'all');
  assert.equal(await world.alive(), 1);
});

test('[SAFE-32] after a lapse under a wider policy the next promise waits for all covered pods', async () => {
  const world = new World();
  world.keeper = world.boot('all');
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  await world.run('other', world.keeper.startBefore());
  await world.crash();
  // The keepers of the deadline are late.
  const ends = world.guard.deadline() ?? 0;
  world.guard.policy = () => 'all';
  world.guard.now = () => ends + 10 * LAPSE_SETTLE_MS;
  world.keeper = world.boot('exclusive');
  world.keeper.begin(world.node);
  await world.seconds(2);
  assert.equal(await world.alive(), 1);
  assert.equal(promiseOf(world.lease)?.policy, 'all', 'no other promise while something of this one lives');
});

for (const [how, fail] of [
  ['was refused', (world: World) => void (world.losesWrites = true)],
  ['was taken, but its answer was lost', (world: World) => void (world.losesAnswers = true)],
] as const) {
  test(`a kubelet that stops after a renewal that ${how} still withdraws the promise`, async () => {
    const world = await promised();
    await world.runExclusive();
    fail(world);
    await world.clock.advance(PROMISE_RENEW_MS);
    const stopping = world.keeper.stop();
    // The answer is not waited for any longer.
    world.losesWrites = false;
    world.losesAnswers = false;
    await world.clock.advance(3_000);
    await stopping;
    assert.equal(promiseOf(world.lease), undefined);
    assert.equal(world.guard.deadline(), undefined);
    await world.clock.advance(10 * D_MS);
    assert.equal(await world.alive(), 1);
  });
}

test('[SAFE-32] a node promises for as long as it is told to, and a shorter promise holds before its answer has come', async () => {
  const world = await promised();
  const longMs = 30_000;
  await world.crash();
  world.keeper = world.boot('exclusive', longMs / 1000);
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  assert.equal(promiseOf(world.lease)?.durationMs, longMs);
  assert.ok((world.guard.deadline() ?? 0) > world.guard.now() + longMs - PROMISE_RENEW_MS);
  await world.crash();
  world.keeper = world.boot();
  world.losesAnswers = true;
  world.keeper.begin(world.node);
  await world.clock.advance(100);
  assert.equal(promiseOf(world.lease)?.durationMs, D_MS, 'the API knows the shorter one');
  assert.ok((world.guard.deadline() ?? 0) <= world.guard.now() + D_MS);
});
