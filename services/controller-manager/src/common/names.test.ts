import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CREATE_IN_FLIGHT_MAX_MS } from '../limits.ts';
import { freePodNames, type NameSearch } from './names.ts';

const NOW = 1_767_225_600_000;
const OLD = NOW - CREATE_IN_FLIGHT_MAX_MS - 1;

const search = (change: Partial<NameSearch> = {}): NameSearch => ({
  prefix: 'web-',
  seed: 'uid',
  held: new Map(),
  avoided: new Set(),
  now: NOW,
  expected: 0,
  ...change,
});

const heldSince = (names: readonly string[], since: number): NameSearch['held'] =>
  new Map(names.map((name) => [name, since]));

test('names have the form of Kubernetes names, and the same gap is filled under the same names', () => {
  const names = freePodNames(search(), 100);
  for (const name of names) assert.match(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal(new Set(names).size, 100);
  assert.deepEqual(freePodNames(search(), 100), names);
});

test('a create that may be in flight is repeated: gaps among young pods are filled', () => {
  const [first, second, third, fourth] = freePodNames(search(), 4);
  const held = heldSince([first ?? '', third ?? ''], NOW - 1_000);
  assert.deepEqual(freePodNames(search({ held, expected: 2 }), 2), [second, fourth]);
});

test('a gap before a pod that is not young is a deleted pod: its name is not reused', () => {
  const [first, second, third, fourth] = freePodNames(search(), 4);
  const held = heldSince([first ?? '', third ?? ''], OLD);
  assert.deepEqual(freePodNames(search({ held, expected: 2 }), 1), [fourth]);
  assert.deepEqual(freePodNames(search({ avoided: new Set([first ?? '']) }), 1), [second]);
});

test('a process that replaces pods for long never reuses a recent pod name', () => {
  const events = fc.array(fc.record({ victim: fc.nat(4), waitMs: fc.constantFrom(10, 1_000, 120_000) }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(events, (deaths) => {
      const held = new Map(freePodNames(search(), 5).map((name) => [name, NOW]));
      const avoided = new Set<string>();
      let now = NOW;
      for (const { victim, waitMs } of deaths) {
        now += waitMs;
        const [gone = ''] = [...held.keys()].slice(victim);
        held.delete(gone);
        avoided.add(gone);
        const [name = ''] = freePodNames(search({ held, avoided, now, expected: held.size }), 1);
        assert.ok(!avoided.has(name) && !held.has(name));
        held.set(name, now);
      }
      // A controller that starts now knows only the pods, and they suffice when they are not young.
      const later = { held, now: now + 2 * CREATE_IN_FLIGHT_MAX_MS, expected: held.size };
      const [next] = freePodNames(search({ ...later, avoided }), 1);
      const fresh = freePodNames(search(later), 1 + avoided.size);
      assert.ok(fresh.includes(next ?? ''));
    }),
    { numRuns: 50 },
  );
});
