import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Arrival, EXPECTED_MS, type Handling, QueueSet } from './queue-set.ts';
import { dealHand, hashOfFlow } from './shuffle-sharding.ts';
import type { Ticket } from './ticket.ts';

interface Request extends Ticket {
  readonly flow: number;
}

const QUEUED: Handling = { kind: 'queue', queueLengthLimit: 1_000 };

/** A level and the order in which requests began. */
class Level {
  readonly queues: QueueSet<Request>;
  readonly executing: Request[] = [];
  now = 0;

  constructor(limit: number, handling: Handling = QUEUED) {
    this.queues = new QueueSet(handling, limit);
  }

  send(flow: number, { seats = 1, hand = [flow] }: { seats?: number; hand?: readonly number[] } = {}): Arrival {
    const request: Request = {
      flow,
      hand,
      seats,
      extraWork: 0,
      queue: undefined,
      beganAt: 0,
      expectedMs: 0,
      begin: () => this.executing.push(request),
      misfit: () => {},
    };
    const arrival = this.queues.arrive(request, this.now);
    if (arrival === 'executing') this.executing.push(request);
    if (arrival === 'waiting') this.queues.dispatch(this.now);
    return arrival;
  }

  /** The one that began first ends. */
  finish(at = 0): number {
    const [request] = this.executing.splice(at, 1);
    assert.ok(request !== undefined);
    this.queues.finish(request, this.now);
    return request.flow;
  }
}

test('property: no backlogged flow gets more than its share, and none starves', () => {
  const runs = fc.record({
    limit: fc.integer({ min: 1, max: 8 }),
    costs: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 6 }),
    greed: fc.integer({ min: 1, max: 50 }),
  });
  fc.assert(
    fc.property(runs, ({ limit, costs, greed }) => {
      const level = new Level(limit);
      const given = costs.map(() => 0);
      // The first flow always has many waiting, the others two.
      const refill = (flow: number): void => void level.send(flow);
      for (const flow of costs.keys()) for (let n = 0; n < limit + 2 + (flow === 0 ? greed : 0); n++) refill(flow);
      for (let step = 0; step < 400; step++) {
        const { flow = 0, beganAt = 0 } = level.executing[0] ?? {};
        level.now += costs[flow] ?? 1;
        level.finish();
        given[flow] = (given[flow] ?? 0) + level.now - beganAt;
        refill(flow);
        // The cost of a request is known when it ends: at most those under way are ahead.
        const most = Math.max(...given);
        const least = Math.min(...given);
        const bound = limit * limit * (Math.max(...costs) + EXPECTED_MS) * costs.length;
        assert.ok(most - least <= bound, `${given.join()} with ${limit} seats`);
      }
      assert.ok(
        given.every((each) => each > 0),
        given.join(),
      );
    }),
    { numRuns: 60 },
  );
});

test('property: no seat stays free while a one-seat request waits, and the seat limit holds', () => {
  const steps = fc.array(fc.record({ flow: fc.nat(5), seats: fc.integer({ min: 1, max: 4 }), ends: fc.boolean() }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 6 }), fc.boolean(), (sent, limit, areWide) => {
      const level = new Level(limit);
      let accepted = 0;
      let ended = 0;
      for (const { flow, seats, ends } of sent) {
        level.now += 1;
        if (ends && level.executing.length > 0) {
          level.finish(flow % level.executing.length);
          ended += 1;
        } else if (level.send(flow, { seats: areWide ? seats : 1 }) !== 'queue-full') accepted += 1;
        const { waiting, seatsInUse, executing } = level.queues;
        assert.equal(waiting + executing, accepted - ended);
        if (waiting > 0 && !areWide) assert.equal(seatsInUse, limit);
        if (waiting > 0) assert.ok(seatsInUse > 0);
        assert.ok(seatsInUse <= limit || executing === 1);
      }
      while (level.executing.length > 0) level.finish();
      assert.ok(level.queues.isIdle && level.queues.seatsInUse === 0 && level.queues.demand === 0);
    }),
  );
});

test('one flow with a thousand requests delays another by one of them', () => {
  const level = new Level(1);
  for (let n = 0; n < 1_000; n++) level.send(0);
  level.now += 10;
  level.send(1);
  assert.equal(level.finish(), 0);
  assert.equal(level.executing[0]?.flow, 1);
});

test('an idle flow accumulates no credit', () => {
  const level = new Level(1);
  for (let n = 0; n < 100; n++) level.send(0);
  for (let n = 0; n < 50; n++, level.now += 10) level.finish();
  for (let n = 0; n < 50; n++) level.send(1);
  const order = Array.from({ length: 10 }, () => {
    level.now += 10;
    return level.finish();
  });
  const share = order.filter((flow) => flow === 0).length;
  assert.ok(share >= 4 && share <= 6, order.join());
});

test('a flow with a slow burst does not wait longer than the others', () => {
  const level = new Level(20);
  for (let n = 0; n < 60; n++) for (let flow = 0; flow < 4; flow++) level.send(flow);
  const places = new Map<number, number[]>();
  for (let place = 0; place < 240; place++) {
    level.now += 50;
    const flow = level.finish();
    places.set(flow, [...(places.get(flow) ?? []), place]);
  }
  for (const own of places.values()) {
    const gaps = own.map((place, i) => place - (own[i - 1] ?? 0));
    assert.ok(Math.max(...gaps) <= 40, `a gap of ${Math.max(...gaps)} requests of others`);
  }
});

test('a full queue rejects, and a flow uses the shortest queue of its hand', () => {
  const level = new Level(1, { kind: 'queue', queueLengthLimit: 2 });
  const arrivals = Array.from({ length: 6 }, () => level.send(0, { hand: [3, 5] }));
  assert.deepEqual(arrivals, ['executing', 'waiting', 'waiting', 'waiting', 'waiting', 'queue-full']);
  const lengths = level.queues.states().map(({ index, waiting }) => [index, waiting.length]);
  assert.deepEqual(lengths, [
    [3, 2],
    [5, 2],
  ]);
});

test('a cancelled request leaves the queue and frees its slot', () => {
  const level = new Level(2);
  level.send(0);
  level.send(1, { seats: 2 });
  level.send(2);
  const waiting = level.queues.states().flatMap((state) => state.waiting);
  const [wide] = waiting;
  assert.ok(wide !== undefined && wide.seats === 2);
  assert.equal(level.queues.leave(wide, 1), true);
  assert.equal(level.queues.leave(wide, 1), false);
  assert.deepEqual(
    level.executing.map(({ flow }) => flow),
    [0, 2],
  );
});

test('a request wider than the level gets all its seats; a level without seats queues all', () => {
  const level = new Level(3);
  assert.equal(level.send(0, { seats: 10 }), 'executing');
  assert.equal(level.send(1), 'waiting');
  level.finish();
  assert.equal(level.executing[0]?.flow, 1);
  const jail = new Level(0);
  assert.equal(jail.send(0), 'waiting');
  jail.queues.setLimit(1, 0);
  assert.equal(jail.executing.length, 1);
});

test('exempt requests never wait; a level without queues rejects requests without a seat', () => {
  const exempt = new Level(0, { kind: 'exempt' });
  for (let n = 0; n < 100; n++) assert.equal(exempt.send(0, { hand: [] }), 'executing');
  const strict = new Level(1, { kind: 'reject' });
  assert.deepEqual([strict.send(0, { hand: [] }), strict.send(1, { hand: [] })], ['executing', 'concurrency-limit']);
  strict.finish();
  assert.equal(strict.send(1, { hand: [] }), 'executing');
});

test('property: a hand has distinct cards of the deck', () => {
  const decks = fc
    .integer({ min: 1, max: 1_024 })
    .chain((queues) =>
      fc.record({ queues: fc.constant(queues), handSize: fc.integer({ min: 1, max: Math.min(8, queues) }) }),
    );
  fc.assert(
    fc.property(fc.string(), fc.string(), decks, (schema, flow, { queues, handSize }) => {
      const hand = dealHand(hashOfFlow(schema, flow), queues, handSize);
      assert.equal(new Set(hand).size, handSize);
      assert.ok(hand.every((card) => card >= 0 && card < queues));
    }),
  );
});

test('hands of many flows are spread evenly, and hardly any two are equal', () => {
  const hands = Array.from({ length: 6_400 }, (_, n) => dealHand(hashOfFlow('global-default', `user-${n}`), 64, 6));
  const counts = new Map<number, number>();
  for (const card of hands.flat()) counts.set(card, (counts.get(card) ?? 0) + 1);
  for (const count of counts.values()) assert.ok(count > 450 && count < 750, `${count} of 600`);
  assert.ok(new Set(hands.map((hand) => hand.toSorted((a, b) => a - b).join())).size > 6_380);
});
