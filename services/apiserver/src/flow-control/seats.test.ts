import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { limitsOf, seatsMaxOf, sharesOf } from './level-limits.ts';
import { RetryAfter } from './retry-after.ts';
import { allocateSeats, fairFraction, type SeatClaim } from './seat-allocation.ts';
import { SeatDemand, smoothedDemand } from './seat-demand.ts';
import { BOOTSTRAP } from './testing.ts';
import { estimateWork } from './work-estimate.ts';

const divided = (total: number, claims: readonly SeatClaim[]): readonly number[] =>
  allocateSeats(fairFraction(total, claims), claims);

test('600 seats are divided as in Kubernetes 1.32', () => {
  const shares = BOOTSTRAP.levels.reduce((sum, level) => sum + sharesOf(level), 0);
  const limits = BOOTSTRAP.levels.map((level) => {
    const { nominal, lower, upper } = limitsOf(level, { seats: 600, shares });
    return [level.metadata.name, nominal, lower, upper];
  });
  assert.deepEqual(limits, [
    ['exempt', 0, 0, 600],
    ['catch-all', 13, 13, 613],
    ['system', 74, 50, 674],
    ['node-high', 98, 73, 698],
    ['leader-election', 25, 25, 625],
    ['workload-high', 98, 49, 698],
    ['workload-low', 245, 24, 845],
    ['global-default', 49, 24, 649],
  ]);
  assert.deepEqual([seatsMaxOf(49, 6), seatsMaxOf(245, 6), seatsMaxOf(3, 6)], [8, 37, 1]);
});

test('property: all seats are divided in proportion to demand, within the bounds', () => {
  const claim = fc
    .record({ lower: fc.nat(50), more: fc.nat(100), wanted: fc.nat(200) })
    .map(({ lower, more, wanted }) => ({ lower, upper: lower + more, target: Math.max(lower, wanted) }));
  fc.assert(
    fc.property(fc.array(claim, { minLength: 1, maxLength: 8 }), fc.nat(800), (claims, total) => {
      const given = divided(total, claims);
      const sum = given.reduce((all, each) => all + each, 0);
      const [least, most] = (['lower', 'upper'] as const).map((key) =>
        claims.reduce((all, each) => all + each[key], 0),
      );
      const possible = Math.min(Math.max(total, least ?? 0), most ?? 0);
      assert.ok(Math.abs(sum - possible) < 0.001, `${sum} of ${possible}`);
      const free = claims.flatMap(({ lower, upper, target }, i) => {
        const seats = given[i] ?? 0;
        assert.ok(seats >= lower - 1e-9 && seats <= upper + 1e-9);
        return target >= 1 && seats > lower + 0.01 && seats < upper - 0.01 ? [seats / target] : [];
      });
      assert.ok(
        free.every((each) => Math.abs(each - (free[0] ?? 0)) < 0.001),
        free.join(),
      );
    }),
  );
});

test('a level with more demand borrows the seats of idle levels, and returns them', () => {
  const resting = { lower: 24, upper: 845, target: 24 };
  const busy = { lower: 49, upper: 649, target: 300 };
  const [, borrowed = 0] = divided(294, [resting, busy]);
  assert.ok(borrowed > 265, `${borrowed}`);
  const [own = 0] = divided(294, [{ ...resting, lower: 245, target: 245 }, busy]);
  assert.ok(own >= 245);
});

test('demand is weighted by time, and past demand decays over minutes', () => {
  const demand = new SeatDemand(0);
  demand.set(10, 0);
  demand.set(0, 5_000);
  assert.deepEqual(demand.read(10_000), { average: 5, deviation: 5, highWatermark: 10 });
  assert.deepEqual(demand.read(20_000), { average: 0, deviation: 0, highWatermark: 0 });
  const none = { average: 0, deviation: 0, highWatermark: 0 };
  assert.equal(smoothedDemand(0, { ...none, average: 100 }, 1), 100);
  const later = smoothedDemand(100, none, 30);
  assert.ok(later > 45 && later < 55, `${later}`);
});

test('under many rejections Retry-After grows, then shrinks again', () => {
  const retry = new RetryAfter(0);
  let told = 0;
  for (let now = 0; now < 40_000; now += 1) told = retry.refuse(now);
  assert.equal(told, 32);
  for (let now = 100_000; now < 1_000_000; now += 40_000) told = retry.refuse(now);
  assert.equal(told, 1);
});

test('the width of a list grows with the objects it reads, that of a write with its watchers', () => {
  const estimate = (verb: string, query: string, { objects = 0, watchers = 0, name = '' } = {}): unknown => {
    const info = { kind: 'resource', verb, path: '', group: '', version: 'v1', resource: 'pods' } as const;
    const target = { namespace: '', name, subresource: '', rest: '' };
    const request = { method: 'GET', path: '', query: new URLSearchParams(query), headers: {} } as const;
    const facts = { objects: () => objects, watchers: () => watchers, seatsMax: 8 };
    const { seats, extraWork } = estimateWork(request, { ...info, ...target }, facts);
    return extraWork === 0 ? seats : { seats, extraWork };
  };
  assert.equal(estimate('list', '', { objects: 250 }), 3);
  assert.equal(estimate('list', '', { objects: 100_000 }), 8);
  assert.equal(estimate('list', 'limit=100', { objects: 100_000 }), 2);
  assert.equal(estimate('list', 'limit=100&labelSelector=a', { objects: 300 }), 4);
  assert.equal(estimate('list', 'fieldSelector=metadata.name%3Da', { objects: 100_000 }), 1);
  assert.equal(estimate('list', '', { objects: 0 }), 1);
  assert.equal(estimate('watch', '', { objects: 100_000 }), 1);
  assert.equal(estimate('watch', 'sendInitialEvents=true', { objects: 100_000 }), 8);
  assert.equal(estimate('get', '', { objects: 100_000, name: 'a' }), 1);
  assert.equal(estimate('create', '', { watchers: 9 }), 1);
  assert.deepEqual(estimate('create', '', { watchers: 95 }), { seats: 1, extraWork: 50 });
});
