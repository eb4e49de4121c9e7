import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Bus,
  type BusMessage,
  BusUnavailable,
  type ChangeEvent,
  changeSubject,
  HEARTBEAT_SUBJECT,
  type Heartbeat,
  OutOfPlace,
  pendingPodsPattern,
  type Retained,
} from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { createSilentLog, nextTurn } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { objectKey, type Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { tokenOf } from '../lineage/token.ts';
import type { KnownState } from './describe.ts';
import { HEARTBEAT_INTERVAL_MS } from './limits.ts';
import { createRelay, type Relay } from './relay.ts';

const EVERYTHING = 'k8s.ev.>';

function podKey(name: string): string {
  return objectKey({ group: '', resource: 'pods', namespace: 'ns', name });
}

function podText(name: string, nodeName?: string): string {
  const spec = nodeName === undefined ? {} : { nodeName };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'ns' }, spec });
}

async function put(store: Store, key: string, value: string): Promise<number> {
  const { object } = await store.get(key);
  const result = await store.write([
    object === undefined
      ? { kind: 'create', key, value }
      : { kind: 'update', key, value, expectedRevision: object.revision },
  ]);
  assert.equal(result.outcome, 'committed');
  return result.outcome === 'committed' ? result.lastRevision : 0;
}

async function remove(store: Store, key: string): Promise<void> {
  const { object } = await store.get(key);
  assert.ok(object !== undefined);
  await store.write([{ kind: 'delete', key, value: object.value, expectedRevision: object.revision }]);
}

interface Rig extends AsyncDisposable {
  readonly store: Store;
  readonly bus: ReturnType<typeof createLocalBus>;
  readonly clock: VirtualClock;
  readonly received: BusMessage[];
  readonly start: (bus?: Bus, knownState?: KnownState) => Promise<Relay>;
}

async function createRig(): Promise<Rig> {
  const store = createMemoryStore();
  const bus = createLocalBus();
  const clock = createVirtualClock(0);
  const received: BusMessage[] = [];
  const relays: Relay[] = [];
  await bus.subscribe(EVERYTHING, { onMessage: (message) => received.push(message) });
  return {
    store,
    bus,
    clock,
    received,
    start: async (over: Bus = bus, knownState = () => undefined) => {
      const relay = createRelay({ store, bus: over, clock, log: createSilentLog(), knownState });
      relays.push(relay);
      await relay.start();
      return relay;
    },
    [Symbol.asyncDispose]: async () => {
      for (const relay of relays) await relay.stop();
    },
  };
}

const eventOf = (message: BusMessage | undefined): ChangeEvent => JSON.parse(message?.data ?? 'null');

test('every change is published in order, with type, key and the object at its revision', async () => {
  await using rig = await createRig();
  await rig.start();
  await put(rig.store, podKey('a'), podText('a', 'n1'));
  await put(rig.store, podKey('a'), podText('a', 'n1'));
  await remove(rig.store, podKey('a'));
  await nextTurn();
  assert.deepEqual(
    rig.received.map((each) => [each.revision, each.previous, eventOf(each).type, eventOf(each).key]),
    [
      [1, 0, 'ADDED', podKey('a')],
      [2, 1, 'MODIFIED', podKey('a')],
      [3, 2, 'DELETED', podKey('a')],
    ],
  );
  const metadata = { name: 'a', namespace: 'ns', resourceVersion: '3' };
  assert.deepEqual(eventOf(rig.received[2]).object, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { nodeName: 'n1' },
  });
});

test('[TEST-10] a binding publishes the pod on its node channel and removes it from the pending channel, once', async () => {
  await using rig = await createRig();
  await rig.start();
  await put(rig.store, podKey('a'), podText('a'));
  await put(rig.store, podKey('a'), podText('a', 'n1'));
  await put(rig.store, podKey('a'), podText('a', 'n1'));
  await put(rig.store, podKey('b'), podText('b'));
  await nextTurn();
  const pending = changeSubject({ group: '', resource: 'pods', namespace: 'ns', name: 'a' });
  const bound = changeSubject({ group: '', resource: 'pods', namespace: 'ns', name: 'a', nodeName: 'n1' });
  const other = changeSubject({ group: '', resource: 'pods', namespace: 'ns', name: 'b' });
  assert.deepEqual(
    rig.received.map((each) => [each.subject, each.revision, each.previous, eventOf(each).type, eventOf(each).movedTo]),
    [
      [pending, 1, 0, 'ADDED', undefined],
      [bound, 2, 0, 'MODIFIED', undefined],
      [pending, 2, 1, 'DELETED', bound],
      [bound, 3, 2, 'MODIFIED', undefined],
      [other, 4, 2, 'ADDED', undefined],
    ],
  );
});

test('a pod deleted while pending or bound is removed from its channel', async () => {
  await using rig = await createRig();
  await rig.start();
  await put(rig.store, podKey('a'), podText('a'));
  await remove(rig.store, podKey('a'));
  await put(rig.store, podKey('a'), podText('a'));
  await put(rig.store, podKey('a'), podText('a', 'n1'));
  await remove(rig.store, podKey('a'));
  await nextTurn();
  const places = rig.received.map((each) => `${each.subject.split('.')[2]} ${each.revision} ${eventOf(each).type}`);
  assert.deepEqual(places, [
    'pend 1 ADDED',
    'pend 2 DELETED',
    'pend 3 ADDED',
    'node 4 MODIFIED',
    'pend 4 DELETED',
    'node 5 DELETED',
  ]);
});

test('subscribers in the process get the frozen value of the text, all the same one', async () => {
  await using rig = await createRig();
  await rig.start();
  await put(rig.store, podKey('a'), podText('a'));
  await put(rig.store, podKey('a'), podText('a', 'n1'));
  await nextTurn();
  assert.equal(rig.received.length, 3);
  for (const each of rig.received) {
    const { type, movedTo, object } = eventOf(each);
    const { shared } = each;
    assert.deepEqual([shared?.type, shared?.movedTo, shared?.hasObject], [type, movedTo, object !== undefined]);
    assert.deepEqual([shared?.key, shared?.object()], ['ns/a', object]);
  }
  const object = rig.received[1]?.shared?.object();
  assert.ok(Object.isFrozen(object) && rig.received[1]?.shared?.object() === object);
});

test('a parsed state is not parsed again, and the node of a pod is extracted once', async () => {
  await using rig = await createRig();
  const asked: number[] = [];
  const known = JSON.parse(podText('a', 'n1'));
  await rig.start(rig.bus, (key, revision) => {
    asked.push(revision);
    return key === podKey('a') ? known : undefined;
  });
  for (const nodeName of [undefined, 'n1', 'n1', 'n1']) await put(rig.store, podKey('a'), podText('a', nodeName));
  await remove(rig.store, podKey('a'));
  await nextTurn();
  assert.deepEqual(asked, [2]);
  const bound = rig.received.filter(({ subject }) => subject.startsWith('k8s.ev.node.n1.'));
  assert.deepEqual(
    bound.map(({ revision }) => revision),
    [2, 3, 4, 5],
  );
  assert.equal(bound[0]?.shared?.object(), known);
});

test('Secrets and ConfigMaps carry key and revision only', async () => {
  await using rig = await createRig();
  await rig.start();
  for (const resource of ['secrets', 'configmaps']) {
    const key = objectKey({ group: '', resource, namespace: 'ns', name: 's' });
    await put(rig.store, key, JSON.stringify({ metadata: { name: 's' }, data: { password: 'aHVudGVyMg==' } }));
  }
  await nextTurn();
  assert.equal(rig.received.length, 2);
  assert.ok(rig.received.every((each) => !('object' in eventOf(each)) && !each.data.includes('aHVudGVyMg')));
  assert.ok(rig.received.every(({ shared }) => shared?.hasObject === false && shared.object() === undefined));
});

test('a heartbeat per interval reports the progress of the relay and the changed channels', async () => {
  await using rig = await createRig();
  await rig.start();
  const revision = await put(rig.store, podKey('a'), podText('a'));
  await rig.clock.advance(2 * HEARTBEAT_INTERVAL_MS);
  const beats = rig.received.filter((each) => each.subject === HEARTBEAT_SUBJECT);
  const beat: Heartbeat = JSON.parse(beats[0]?.data ?? 'null');
  assert.equal(beats.length, 2);
  assert.deepEqual(beat, {
    rev: revision,
    floor: 0,
    since: 0,
    tails: { 'k8s.ev.pend.pods': revision },
    quiet: 0,
    seen: tokenOf(rig.store.lineage(), revision, await rig.store.writeIdAt(revision)),
  });
  assert.equal(beats[0]?.revision, revision);
});

test('a relay that starts on an existing bus continues from its position', async () => {
  await using rig = await createRig();
  const first = await rig.start();
  await put(rig.store, podKey('a'), podText('a'));
  await nextTurn();
  await first.stop();
  await put(rig.store, podKey('b'), podText('b'));
  const second = await rig.start();
  await put(rig.store, podKey('c'), podText('c'));
  await nextTurn();
  assert.deepEqual(
    rig.received.map((each) => each.revision),
    [1, 2, 3],
  );
  assert.equal(rig.received[1]?.previous, 1, 'the second relay vouches for what came after its place only');
  assert.equal(second.revision(), 3);
});

test('[TEST-10] when history is compacted the bus restarts and its consumers are notified', async () => {
  await using rig = await createRig();
  const first = await rig.start();
  await put(rig.store, podKey('a'), podText('a'));
  await nextTurn();
  await first.stop();
  for (let i = 0; i < 5; i++) await put(rig.store, podKey('a'), podText('a'));
  await rig.store.compact(4);
  let interruptions = 0;
  await rig.bus.subscribe(EVERYTHING, { after: 1, onMessage: () => {}, onInterruption: () => (interruptions += 1) });
  await rig.start();
  await nextTurn();
  assert.equal(interruptions, 1);
  await put(rig.store, podKey('a'), podText('a'));
  await nextTurn();
  assert.deepEqual(
    rig.received.map((each) => each.revision),
    [1, 7],
  );
});

/** Behaves as an ordered log (JetStream) towards publishers that are not at its end. */
function strict(bus: ReturnType<typeof createLocalBus>): Bus & { readonly retained: Retained } {
  let last = 0;
  return {
    ...facade(bus),
    publish: async (messages) => {
      for (const message of messages) {
        if (message.subject !== HEARTBEAT_SUBJECT) {
          if (last !== message.revision - 1) throw new OutOfPlace(last);
          last = message.revision;
        }
        await bus.publish([message]);
      }
    },
    retained: {
      position: () => bus.retained.position(),
      restartAfter: (revision) => {
        last = revision;
        return bus.retained.restartAfter(revision);
      },
    },
  };
}

function facade(bus: Bus): Bus {
  return {
    publish: (messages) => bus.publish(messages),
    subscribe: (patterns, options) => bus.subscribe(patterns, options),
    health: () => bus.health(),
    close: () => bus.close(),
    ...(bus.retained === undefined ? {} : { retained: bus.retained }),
  };
}

test('[TEST-10] one of two relays publishes, and when it dies the other continues without a gap or a duplicate', async () => {
  await using rig = await createRig();
  const bus = strict(rig.bus);
  const relays = [await rig.start(bus), await rig.start(bus)];
  for (let i = 0; i < 20; i++) {
    await put(rig.store, podKey(`p${i}`), podText('p'));
    if (i === 10) await relays[0]?.stop();
    await rig.clock.advance(300);
  }
  await rig.clock.advance(5_000);
  const changes = rig.received.filter((each) => each.subject !== HEARTBEAT_SUBJECT);
  assert.deepEqual(
    changes.map((each) => each.revision),
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
  assert.deepEqual(
    changes.map((each) => each.previous),
    Array.from({ length: 20 }, (_, i) => i),
  );
  assert.equal(relays[1]?.revision(), 20);
});

test('an unreachable bus blocks nothing and gets all messages later', async () => {
  await using rig = await createRig();
  let reachable = true;
  const bus: Bus = {
    ...facade(rig.bus),
    publish: async (messages) => {
      if (!reachable) throw new BusUnavailable('cut');
      await rig.bus.publish(messages);
    },
  };
  const relay = await rig.start(bus);
  reachable = false;
  for (let i = 0; i < 5; i++) await put(rig.store, podKey('a'), podText('a'));
  await rig.clock.advance(30_000);
  assert.equal(rig.received.length, 0);
  assert.match(relay.health()[0] ?? '', /changes are not published: cut/);
  reachable = true;
  await rig.clock.advance(10_000);
  const revisions = rig.received.filter((each) => each.subject !== HEARTBEAT_SUBJECT).map((each) => each.revision);
  assert.deepEqual(revisions, [1, 2, 3, 4, 5]);
  assert.deepEqual(relay.health(), []);
});

test('a bus that lost its tail gets it again', async () => {
  await using rig = await createRig();
  const bus = strict(rig.bus);
  await rig.start(bus);
  for (let i = 0; i < 5; i++) await put(rig.store, podKey('a'), podText('a'));
  await nextTurn();
  await bus.retained.restartAfter(3);
  await put(rig.store, podKey('a'), podText('a'));
  await rig.clock.advance(10_000);
  const revisions = rig.received.filter((each) => each.subject !== HEARTBEAT_SUBJECT).map((each) => each.revision);
  assert.deepEqual(revisions, [1, 2, 3, 4, 5, 4, 5, 6]);
});

test('[TEST-10] a bus that is ahead of the store is left alone and reported', async () => {
  await using rig = await createRig();
  await put(rig.store, podKey('a'), podText('a'));
  await rig.bus.retained.restartAfter(50);
  const relay = await rig.start(strict(rig.bus));
  await put(rig.store, podKey('a'), podText('a'));
  await rig.clock.advance(20_000);
  assert.match(relay.health()[0] ?? '', /the store lost data/);
  assert.deepEqual(await rig.bus.retained.position(), { floor: 50, last: 50 });
});

test('nothing is published after stop', async () => {
  await using rig = await createRig();
  const relay = await rig.start();
  await relay.stop();
  await relay.stop();
  await put(rig.store, podKey('a'), podText('a'));
  await rig.clock.advance(20_000);
  assert.deepEqual(rig.received, []);
});

test('a subscriber of pending pods ends with exactly the pending pods', async () => {
  await using rig = await createRig();
  const pendingPods = new Set<string>();
  await rig.bus.subscribe(pendingPodsPattern(), {
    onMessage: (message) => {
      const { type, key } = eventOf(message);
      if (type === 'DELETED') pendingPods.delete(key);
      else pendingPods.add(key);
    },
  });
  await rig.start();
  for (const name of ['a', 'b', 'c', 'd']) await put(rig.store, podKey(name), podText(name));
  await put(rig.store, podKey('b'), podText('b', 'n1'));
  await remove(rig.store, podKey('c'));
  await put(rig.store, podKey('e'), podText('e', 'n1'));
  await nextTurn();
  assert.deepEqual([...pendingPods], [podKey('a'), podKey('d')]);
});

interface Stretching extends Bus {
  readonly retained: Retained;
  /** The maximum number of changes in one publish. */
  readonly mostAtOnce: () => number;
}

interface Fate {
  /** It does not arrive. */
  readonly isLost?: (message: BusMessage) => boolean;
  /** It arrives, and the answer to it does not. */
  readonly isUnanswered?: (message: BusMessage) => boolean;
}

/**
 * A bus that accepts several changes per publish, as JetStream does: each is checked separately, in order, and only the
 * last is acknowledged.
 */
function stretching(bus: ReturnType<typeof createLocalBus>, fate: Fate): Stretching {
  const inner = strict(bus);
  const { isLost = () => false, isUnanswered = () => false } = fate;
  let most = 0;
  return {
    ...inner,
    changesAtOnce: 8,
    mostAtOnce: () => most,
    publish: async (messages) => {
      if (messages[0]?.subject === HEARTBEAT_SUBJECT) return inner.publish(messages);
      most = Math.max(most, messages.length);
      let refusal: Error | undefined;
      for (const message of messages) {
        const arrives = !isLost(message);
        refusal = arrives ? await refusalOf(inner.publish([message])) : new BusUnavailable('lost');
        if (arrives && isUnanswered(message)) refusal = new BusUnavailable('no answer');
      }
      for (let i = 0; i < 5; i++) await Promise.resolve();
      if (refusal !== undefined) throw refusal;
    },
  };
}

const refusalOf = (attempt: Promise<void>): Promise<Error | undefined> =>
  attempt.then(
    () => undefined,
    (error: Error) => error,
  );

const changesOf = (rig: Rig): number[] =>
  rig.received.filter((each) => each.subject !== HEARTBEAT_SUBJECT).map((each) => each.revision);

test('queued changes are published together, up to the batch size of the bus', async () => {
  await using rig = await createRig();
  const bus = stretching(rig.bus, {});
  const relay = await rig.start(bus);
  await Promise.all(Array.from({ length: 40 }, (_, i) => put(rig.store, podKey(`p${i}`), podText('p'))));
  for (let i = 0; i < 10; i++) await nextTurn();
  assert.deepEqual(
    changesOf(rig),
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  assert.equal(bus.mostAtOnce(), 8);
  assert.equal(relay.revision(), 40);
});

test('[TEST-10] a bus that was away for minutes gets all queued changes, in order, once', async () => {
  await using rig = await createRig();
  let reachable = true;
  const bus = stretching(rig.bus, { isLost: () => !reachable });
  const relay = await rig.start(bus);
  await put(rig.store, podKey('before'), podText('p'));
  await rig.clock.advance(100);
  reachable = false;
  for (let i = 0; i < 100; i++) await put(rig.store, podKey(`p${i}`), podText('p'));
  await rig.clock.advance(300_000);
  assert.deepEqual(changesOf(rig), [1]);
  assert.match(relay.health()[0] ?? '', /changes are not published: lost/);
  reachable = true;
  await rig.clock.advance(10_000);
  assert.deepEqual(
    changesOf(rig),
    Array.from({ length: 101 }, (_, i) => i + 1),
  );
  assert.equal(bus.mostAtOnce(), 8);
  assert.deepEqual(relay.health(), []);
});

test('[TEST-10] when one of several changes in flight is lost, it and all later ones are published again, once', async () => {
  await using rig = await createRig();
  const lost = new Set([5, 6, 17, 40]);
  const relay = await rig.start(stretching(rig.bus, { isLost: ({ revision }) => lost.delete(revision) }));
  for (let i = 0; i < 40; i++) await put(rig.store, podKey(`p${i}`), podText('p'));
  await rig.clock.advance(10_000);
  assert.equal(lost.size, 0);
  assert.deepEqual(
    changesOf(rig),
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  assert.equal(relay.revision(), 40);
  assert.deepEqual(relay.health(), []);
});

test('[TEST-10] a lost acknowledgement of published changes causes no duplicate, and the next changes continue', async () => {
  await using rig = await createRig();
  const unanswered = new Set([1, 9, 17, 30]);
  const relay = await rig.start(stretching(rig.bus, { isUnanswered: ({ revision }) => unanswered.delete(revision) }));
  await Promise.all(Array.from({ length: 40 }, (_, i) => put(rig.store, podKey(`p${i}`), podText('p'))));
  await rig.clock.advance(10_000);
  assert.equal(unanswered.size, 0);
  assert.deepEqual(
    changesOf(rig),
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  assert.equal(relay.revision(), 40);
  assert.deepEqual(relay.health(), []);
});

test('[TEST-10] a bus that loses its tail between batched changes gets the tail again', async () => {
  await using rig = await createRig();
  let isWhole = true;
  const bus = stretching(rig.bus, {
    isLost: ({ revision }) => {
      if (revision !== 20 || !isWhole) return false;
      isWhole = false;
      void bus.retained.restartAfter(3);
      return false;
    },
  });
  const relay = await rig.start(bus);
  await Promise.all(Array.from({ length: 40 }, (_, i) => put(rig.store, podKey(`p${i}`), podText('p'))));
  await rig.clock.advance(10_000);
  const upTo19 = Array.from({ length: 19 }, (_, i) => i + 1);
  const from4 = Array.from({ length: 37 }, (_, i) => i + 4);
  assert.deepEqual(changesOf(rig), [...upTo19, ...from4]);
  assert.equal(relay.revision(), 40);
  assert.deepEqual(relay.health(), []);
});

test('[TEST-10] two relays that start together publish each change once, and one of them steps back', async () => {
  await using rig = await createRig();
  const attempts = [0, 0];
  const shared = stretching(rig.bus, {});
  const counted = (of: number): Bus => ({
    ...shared,
    publish: (messages) => {
      attempts[of] = (attempts[of] ?? 0) + messages.length;
      return shared.publish(messages);
    },
  });
  const relays = [await rig.start(counted(0)), await rig.start(counted(1))];
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, i) => put(rig.store, podKey(`p${round}-${i}`), podText('p'))));
    await rig.clock.advance(100);
  }
  await rig.clock.advance(2_000);
  assert.deepEqual(
    changesOf(rig),
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
  assert.deepEqual(
    relays.map((relay) => relay.revision()),
    [200, 200],
  );
  assert.ok(Math.min(...attempts) < 100, `both went on publishing: ${attempts.join(' and ')} attempts`);
});
