import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thing } from '../contract/helpers.ts';
import { busContract, collect, message, publishAll } from '../contract/index.ts';
import { BusUnavailable, type SharedChange } from '../port.ts';
import { resourcePattern } from '../subjects.ts';
import { createLocalBus } from './local-bus.ts';

busContract('local', async () => {
  const bus = createLocalBus();
  return { bus, other: bus, [Symbol.asyncDispose]: () => bus.close() };
});

const THINGS = resourcePattern('test.dev', 'things');
const microtasksRan = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

test('local bus delivers in microtasks only, so a simulation can replay it', async () => {
  const bus = createLocalBus();
  const seen = await collect(bus, THINGS);
  void bus.publish([message(1)]);
  assert.deepEqual(seen.revisions(), []);
  await microtasksRan();
  assert.deepEqual(seen.revisions(), [1]);
});

test('local bus evicts the oldest messages by count and reports subscribers that lag', async () => {
  const bus = createLocalBus({ retainedMessages: 3 });
  await publishAll(
    bus,
    [1, 2, 3, 4, 5].map((revision) => message(revision)),
  );
  assert.deepEqual(await bus.retained.position(), { floor: 2, last: 5 });
  let interruptions = 0;
  const onInterruption = (): void => {
    interruptions += 1;
  };
  const late = await collect(bus, THINGS, { after: 1, onInterruption });
  const inTime = await collect(bus, THINGS, { after: 2, onInterruption: () => assert.fail('nothing is lost after 2') });
  await microtasksRan();
  assert.equal(interruptions, 1);
  assert.deepEqual(late.revisions(), [3, 4, 5]);
  assert.deepEqual(inTime.revisions(), [3, 4, 5]);
});

test('local bus evicts the oldest messages by size', async () => {
  const bus = createLocalBus({ retainedCharacters: 100 });
  await publishAll(
    bus,
    [1, 2, 3].map((revision) => message(revision, { data: 'x'.repeat(45) })),
  );
  assert.deepEqual(await bus.retained.position(), { floor: 1, last: 3 });
});

test('local bus keeps one copy of a change that two publishers send', async () => {
  const bus = createLocalBus();
  await publishAll(bus, [message(1), message(2), message(3), message(2), message(3), message(4)]);
  const seen = await collect(bus, THINGS, { after: 1 });
  await microtasksRan();
  assert.deepEqual(seen.revisions(), [2, 3, 4]);
});

test('local bus accepts batches in order and delivers them in microtasks only', async () => {
  const bus = createLocalBus();
  const seen = await collect(bus, THINGS);
  bus.publishNow([message(1), message(2)]);
  void bus.publish([message(3)]);
  assert.deepEqual(seen.revisions(), []);
  await microtasksRan();
  assert.deepEqual(seen.revisions(), [1, 2, 3]);
  await bus.close();
  assert.throws(() => bus.publishNow([message(4)]), BusUnavailable);
});

test('local bus serves subscribers that come and go, independent of earlier messages of the channel', async () => {
  const bus = createLocalBus();
  await bus.publish([message(1)]);
  const first = await collect(bus, THINGS);
  await bus.publish([message(2)]);
  const narrow = await collect(bus, thing('t4'));
  await publishAll(bus, [message(3), message(4)]);
  await microtasksRan();
  await first.subscription.close();
  await narrow.subscription.close();
  const last = await collect(bus, THINGS);
  await bus.publish([message(5)]);
  await microtasksRan();
  assert.deepEqual([first.revisions(), narrow.revisions(), last.revisions()], [[2, 3, 4], [4], [5]]);
});

test('local bus does not serialize a message that carries its object', async () => {
  const bus = createLocalBus();
  const shared: SharedChange = {
    type: 'ADDED',
    key: 'n/t1',
    hasObject: true,
    movedTo: undefined,
    object: () => 'it',
  };
  const seen = await collect(bus, THINGS);
  const told = {
    subject: thing('t1'),
    revision: 1,
    previous: undefined,
    size: 10,
    shared,
    get data(): string {
      return assert.fail('nobody asked for text');
    },
  };
  bus.publishNow([told]);
  await microtasksRan();
  assert.equal(seen.received[0]?.shared?.object(), 'it');
});

test('a subscriber may publish, subscribe and close inside its handler', async () => {
  const bus = createLocalBus();
  const inner: number[] = [];
  const outer: number[] = [];
  const subscription = await bus.subscribe(THINGS, {
    onMessage: ({ revision }) => {
      outer.push(revision);
      if (revision === 1) {
        void bus.subscribe(THINGS, { after: 1, onMessage: (each) => inner.push(each.revision) });
        void bus.publish([message(2)]);
      } else void subscription.close();
    },
  });
  await bus.publish([message(1)]);
  await bus.publish([message(3)]);
  await microtasksRan();
  assert.deepEqual(outer, [1, 2]);
  assert.deepEqual(inner, [2, 3]);
});
