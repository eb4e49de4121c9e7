import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bus } from '../port.ts';
import { changeSubject, HEARTBEAT_SUBJECT, nodePodsPattern, pendingPodsPattern, resourcePattern } from '../subjects.ts';
import { collect, eventually, message, publishAll, thing } from './helpers.ts';

export interface BusFixture extends AsyncDisposable {
  readonly bus: Bus;
  /** A second connection to the same bus, or the same object when the backend has no connections. */
  readonly other: Bus;
  /**
   * Cuts and restores the transport in a way that the bus notices. Absent when the backend cannot lose its transport.
   */
  readonly interrupt?: () => Promise<void>;
}

/** Starts an empty bus: the first change may have revision 1. */
export type CreateBusFixture = () => Promise<BusFixture>;

const EVERY_THING = resourcePattern('test.dev', 'things');

/** Tests the contract of `Bus`. Every backend must pass it. */
export function busContract(backend: string, create: CreateBusFixture): void {
  const title = (text: string): string => `${backend} bus: ${text}`;
  deliveryContract(title, create);
  replayContract(title, create);
  positionContract(title, create);
  departureContract(title, create);
  closeContract(title, create);
}

type Title = (text: string) => string;

function define(title: string, run: () => Promise<void>): void {
  void test(title, run);
}

function deliveryContract(title: Title, create: CreateBusFixture): void {
  define(title('delivers in publishing order, with every field'), async () => {
    await using fixture = await create();
    const seen = await collect(fixture.other, EVERY_THING);
    const sent = Array.from({ length: 50 }, (_, i) => message(i + 1, i === 0 ? {} : { previous: i }));
    await publishAll(fixture.bus, sent);
    await eventually(() => seen.received.length >= 50, 'fifty messages arrive');
    assert.deepEqual(seen.received, sent);
  });

  define(title('takes a stretch of changes at once'), async () => {
    await using fixture = await create();
    const seen = await collect(fixture.other, EVERY_THING);
    const sent = Array.from({ length: fixture.bus.changesAtOnce ?? 1 }, (_, i) => message(i + 1));
    await fixture.bus.publish(sent);
    assert.equal((await fixture.bus.retained?.position())?.last, sent.length);
    await fixture.bus.publish([message(sent.length + 1)]);
    await eventually(() => seen.received.length > sent.length, 'all of them arrive');
    assert.deepEqual(seen.received, [...sent, message(sent.length + 1)]);
  });

  define(title('delivers only what a pattern matches, to every subscriber it matches'), async () => {
    await using fixture = await create();
    const one = await collect(fixture.other, thing('t2'));
    const all = await collect(fixture.other, EVERY_THING);
    const widgets = await collect(fixture.other, resourcePattern('test.dev', 'widgets'));
    const both = await collect(fixture.other, [...EVERY_THING, ...resourcePattern('test.dev', 'widgets')]);
    await publishAll(fixture.bus, [message(1), message(2), message(3, { subject: thing('w', 'widgets') }), message(4)]);
    await eventually(() => both.received.length === 4 && all.received.length === 3, 'all subscribers are served');
    await eventually(() => one.received.length === 1 && widgets.received.length === 1, 'narrow subscribers are served');
    assert.deepEqual(one.revisions(), [2]);
    assert.deepEqual(all.revisions(), [1, 2, 4]);
    assert.deepEqual(widgets.revisions(), [3]);
    assert.deepEqual(both.revisions(), [1, 2, 3, 4]);
  });

  define(title('a name with dots and wildcards stays one token'), async () => {
    await using fixture = await create();
    const seen = await collect(fixture.other, EVERY_THING);
    await publishAll(fixture.bus, [message(1, { subject: thing('a.b.*.>') }), message(2, { subject: thing('ä') })]);
    await eventually(() => seen.received.length === 2, 'both arrive');
    assert.deepEqual(
      seen.received.map((each) => each.subject),
      [thing('a.b.*.>'), thing('ä')],
    );
  });

  define(title('carries one and a half mebibytes'), async () => {
    await using fixture = await create();
    const seen = await collect(fixture.other, EVERY_THING);
    const data = JSON.stringify({ type: 'ADDED', revision: 1, key: 'k', object: 'x'.repeat(1.5 * 1024 * 1024) });
    await fixture.bus.publish([message(1, { data })]);
    await eventually(() => seen.received.length === 1, 'the large message arrives');
    assert.equal(seen.received[0]?.data, data);
  });

  define(title('never runs a handler inside publish'), async () => {
    await using fixture = await create();
    let handled = 0;
    let publishing = false;
    await fixture.bus.subscribe(EVERY_THING, {
      onMessage: () => {
        assert.equal(publishing, false);
        handled += 1;
      },
    });
    for (let revision = 1; revision <= 10; revision++) {
      publishing = true;
      const published = fixture.bus.publish([message(revision)]);
      publishing = false;
      await published;
    }
    await eventually(() => handled === 10, 'ten messages are handled');
  });
}

function replayContract(title: Title, create: CreateBusFixture): void {
  define(title('replays what came after a revision, then goes on, without gap or double'), async () => {
    await using fixture = await create();
    await publishAll(
      fixture.bus,
      [1, 2, 3, 4, 5].map((revision) => message(revision)),
    );
    const seen = await collect(fixture.other, EVERY_THING, { after: 2 });
    await publishAll(fixture.bus, [message(6), message(7)]);
    await eventually(() => seen.received.length >= 5, 'five messages arrive');
    assert.deepEqual(seen.revisions(), [3, 4, 5, 6, 7]);
  });

  define(title('skips messages that the subscriber knows already, also later ones'), async () => {
    await using fixture = await create();
    const seen = await collect(fixture.other, EVERY_THING, { after: 3 });
    await publishAll(
      fixture.bus,
      [1, 2, 3, 4].map((revision) => message(revision)),
    );
    await eventually(() => seen.received.length >= 1, 'one message arrives');
    assert.deepEqual(seen.revisions(), [4]);
  });

  define(title('delivers every heartbeat, never replays one'), async () => {
    await using fixture = await create();
    const beat = {
      subject: HEARTBEAT_SUBJECT,
      revision: 1,
      previous: undefined,
      data: '{"rev":1,"floor":0,"since":0,"tails":{},"quiet":0}',
    };
    const early = await collect(fixture.other, HEARTBEAT_SUBJECT);
    await fixture.bus.publish([beat]);
    await eventually(() => early.received.length === 1, 'the first heartbeat has passed');
    const seen = await collect(fixture.other, HEARTBEAT_SUBJECT, { after: 100 });
    await eventually(async () => {
      await fixture.bus.publish([{ ...beat, data: '{"rev":1,"floor":0,"since":0,"tails":{"late":1},"quiet":0}' }]);
      return seen.received.length > 0;
    }, 'a heartbeat arrives');
    assert.ok(seen.received.every((each) => each.data.includes('late')));
    assert.deepEqual(Object.keys(seen.received[0] ?? {}).toSorted(), ['data', 'previous', 'revision', 'subject']);
  });
}

function positionContract(title: Title, create: CreateBusFixture): void {
  define(title('tells its position, and interrupts a subscriber that starts below what is kept'), async () => {
    await using fixture = await create();
    const { retained } = fixture.bus;
    assert.ok(retained !== undefined);
    await publishAll(fixture.bus, [message(1), message(2)]);
    assert.deepEqual(await retained.position(), { floor: 0, last: 2 });
    await retained.restartAfter(40);
    assert.deepEqual(await retained.position(), { floor: 40, last: 40 });
    let interruptions = 0;
    const onInterruption = (): void => {
      interruptions += 1;
    };
    const seen = await collect(fixture.other, EVERY_THING, { after: 2, onInterruption });
    await eventually(() => interruptions > 0, 'the subscriber learns that 3..40 are gone');
    await fixture.bus.publish([message(41)]);
    await eventually(() => seen.received.length === 1, 'the next change arrives');
    assert.deepEqual(seen.revisions(), [41]);
    assert.deepEqual(await retained.position(), { floor: 40, last: 41 });
  });

  define(title('interrupts open subscriptions when what is kept restarts'), async () => {
    await using fixture = await create();
    await fixture.bus.publish([message(1)]);
    let interruptions = 0;
    const seen = await collect(fixture.other, EVERY_THING, { after: 0, onInterruption: () => (interruptions += 1) });
    await eventually(() => seen.received.length === 1, 'the first change arrives');
    await fixture.bus.retained?.restartAfter(10);
    await fixture.bus.publish([message(11)]);
    await eventually(() => interruptions > 0, 'the subscriber learns that something may be lost');
    await eventually(() => seen.revisions().includes(11), 'the subscription goes on by itself');
  });
}

function departureContract(title: Title, create: CreateBusFixture): void {
  const pod = { group: '', resource: 'pods', namespace: 'ns', name: 'p' };
  const pending = changeSubject(pod);
  const bound = changeSubject({ ...pod, nodeName: 'n1' });
  const binding = message(2, {
    subject: bound,
    previous: undefined,
    data: '{"type":"MODIFIED","revision":2,"key":"core/pods/ns/p"}',
    departure: {
      subject: pending,
      previous: 1,
      data: `{"type":"DELETED","revision":2,"key":"core/pods/ns/p","movedTo":"${bound}"}`,
    },
  });
  const arrival = { subject: bound, revision: 2, previous: undefined, data: binding.data };
  const notice = { revision: 2, ...binding.departure };

  define(title('shows a departure on the subject that was left'), async () => {
    await using fixture = await create();
    const all = await collect(fixture.other, resourcePattern('', 'pods'));
    const waiting = await collect(fixture.other, pendingPodsPattern());
    const node = await collect(fixture.other, nodePodsPattern('n1'));
    const otherNode = await collect(fixture.other, nodePodsPattern('n2'));
    const later = message(3, { subject: bound, previous: 2 });
    await publishAll(fixture.bus, [message(1, { subject: pending }), binding, later]);
    const counts = (): string => `${all.received.length} ${waiting.received.length} ${node.received.length}`;
    await eventually(() => counts() === '4 2 2', 'every subscriber has its share');
    assert.deepEqual(waiting.received, [message(1, { subject: pending }), notice]);
    assert.deepEqual(node.received, [arrival, later]);
    assert.deepEqual(all.received, [message(1, { subject: pending }), arrival, notice, later]);
    assert.deepEqual(otherNode.received, []);
  });

  define(title('replays a departure too'), async () => {
    await using fixture = await create();
    await publishAll(fixture.bus, [message(1, { subject: pending }), binding]);
    const all = await collect(fixture.other, resourcePattern('', 'pods'), { after: 1 });
    const waiting = await collect(fixture.other, pendingPodsPattern(), { after: 1 });
    await eventually(() => all.received.length + waiting.received.length === 3, 'both are replayed');
    assert.deepEqual(all.received, [arrival, notice]);
    assert.deepEqual(waiting.received, [notice]);
  });
}

function closeContract(title: Title, create: CreateBusFixture): void {
  define(title('no handler runs after a subscription closed; others go on'), async () => {
    await using fixture = await create();
    const closing = await collect(fixture.other, EVERY_THING);
    const staying = await collect(fixture.other, EVERY_THING);
    await fixture.bus.publish([message(1)]);
    await eventually(() => closing.received.length === 1, 'the first message arrives');
    await closing.subscription.close();
    await closing.subscription.close();
    await publishAll(fixture.bus, [message(2), message(3)]);
    await eventually(() => staying.received.length === 3, 'the other subscriber has all');
    assert.deepEqual(closing.revisions(), [1]);
  });

  define(title('a closed bus says so and refuses'), async () => {
    await using fixture = await create();
    assert.deepEqual(fixture.bus.health(), []);
    await fixture.bus.close();
    assert.notDeepEqual(fixture.bus.health(), []);
    await assert.rejects(fixture.bus.publish([message(1)]), { name: 'BusUnavailable' });
    await assert.rejects(fixture.bus.subscribe('a', { onMessage: () => {} }), { name: 'BusUnavailable' });
  });

  define(
    title('after a cut of the transport the subscription goes on or says that it may have lost something'),
    async () => {
      await using fixture = await create();
      if (fixture.interrupt === undefined) {
        assert.deepEqual(fixture.bus.health(), [], 'a transport that cannot be cut is always healthy');
        return;
      }
      let interruptions = 0;
      const seen = await collect(fixture.other, EVERY_THING, { after: 0, onInterruption: () => (interruptions += 1) });
      await fixture.bus.publish([message(1)]);
      await fixture.interrupt();
      await eventually(async () => {
        const last = (await fixture.bus.retained?.position().catch(() => undefined))?.last ?? 1;
        // A transport may have lost what it accepted last: the publisher sends it again.
        if (last < 2) await fixture.bus.publish([message(last + 1)]).catch(() => undefined);
        return last === 2;
      }, 'publishing works again');
      await eventually(() => seen.revisions().includes(2) || interruptions > 0, 'nothing is lost silently');
    },
  );
}
