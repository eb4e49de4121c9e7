import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lease, SELF_FENCING, SELF_FENCING_BROKEN } from '@holdfast/api';
import fc from 'fast-check';
import { decidePromises, NEW_PROMISE_MEMORY, type PromiseMemory, waitMs } from './decide.ts';

const LIMITS = { clockRate: 0.01, marginMs: 2_000, stallMs: 3_000, heardPromisingMs: 5_000, heardOtherMs: 20_000 };
const D_MS = 8_000;
const WAIT_MS = waitMs(D_MS, LIMITS);
const LOOK_MS = 500;

function lease(
  name: string,
  revision: number,
  annotations: Record<string, string> = { [SELF_FENCING]: 'exclusive' },
): Lease {
  const metadata = { name, uid: name, namespace: 'kube-node-lease', resourceVersion: String(revision), annotations };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: { leaseDurationSeconds: D_MS / 1000 } };
}

/** Evaluates every half second; returns when each node's promise first counted as waited out. */
function watch(leasesAt: (ms: number) => readonly Lease[], untilMs: number, options = { fromMs: 0 }) {
  let memory: PromiseMemory = NEW_PROMISE_MEMORY;
  const due = new Map<string, number>();
  for (let ms = options.fromMs; ms <= untilMs; ms += LOOK_MS) {
    const decision = decidePromises(memory, leasesAt(ms), ms, LIMITS);
    memory = decision.memory;
    for (const { metadata } of decision.due) if (!due.has(metadata.name ?? '')) due.set(metadata.name ?? '', ms);
  }
  return due;
}

/** Renews every 2 s until `lastMs`. */
const renewing = (name: string, lastMs: number) => (ms: number) =>
  lease(name, 1 + Math.floor(Math.min(ms, lastMs) / 2_000));
const alive = renewing('b', Number.POSITIVE_INFINITY);

test('[FENCE-06] a promise has expired only when its last revision was observed for longer than lease, clock rate and margin', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20_000 }), (lastMs) => {
      const lost = renewing('a', lastMs);
      const due = watch((ms) => [lost(ms), alive(ms)], lastMs + 20_000);
      const lastRenewal = Math.floor(lastMs / 2_000) * 2_000;
      const at = due.get('a');
      assert.ok(at !== undefined && at - lastRenewal > WAIT_MS, `${at} after ${lastRenewal}`);
      assert.ok(at - lastRenewal <= WAIT_MS + 2 * LOOK_MS, 'and then at the next look');
      assert.equal(due.has('b'), false);
    }),
  );
});

test('[FENCE-06] with any clock rates within the accepted difference, the node is past its deadline before the wait ends', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: LIMITS.clockRate, noNaN: true }),
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: 0, max: 5_000 }),
      (rate, onTheWayMs, unseenMs) => {
        // The node sends at 0; its clock is the slower one. It is committed, and seen by the control plane later.
        const deadMs = D_MS * (1 + rate);
        const brokenMs = onTheWayMs + unseenMs + WAIT_MS;
        assert.ok(deadMs + LIMITS.marginMs <= brokenMs);
      },
    ),
    // The worst case, which chance does not meet.
    { examples: [[LIMITS.clockRate, 0, 0]] },
  );
});

test('a new process waits the whole time, whatever the lease says', () => {
  const lost = lease('a', 1);
  assert.ok((watch((ms) => [lost, alive(ms)], 1_020_000, { fromMs: 1_000_000 }).get('a') ?? 0) > 1_000_000 + WAIT_MS);
});

test('[FENCE-06] what one node was silent before all were counts, and the silence of all does not', () => {
  // The other node renews until 4 s, and again from 10 s: nobody is heard for longer than accepted.
  const slow = (ms: number): Lease => lease('b', ms < 10_000 ? 1 + Math.floor(Math.min(ms, 4_000) / 2_000) : ms);
  const at = watch((ms) => [lease('a', 1), slow(ms)], 30_000).get('a') ?? 0;
  const silentMs = 6_000;
  assert.ok(at > WAIT_MS + silentMs && at <= WAIT_MS + silentMs + 2 * LOOK_MS, `${at}`);
});

test('[FENCE-06] a pause of the process counts for no wait, and the time before it does', () => {
  const pausedMs = 60_000;
  // The first look after the pause sees what was known before it.
  const lateLooks = (ms: number): readonly Lease[] => [lease('a', 1), lease('b', ms === 4_000 + pausedMs ? 4_000 : ms)];
  let memory: PromiseMemory = NEW_PROMISE_MEMORY;
  let due: readonly Lease[] = [];
  let ms = 0;
  for (; due.length === 0 && ms < 2 * pausedMs; ms += ms === 4_000 ? pausedMs : LOOK_MS)
    ({ memory, due } = decidePromises(memory, lateLooks(ms), ms, LIMITS));
  const waitedMs = ms - LOOK_MS - pausedMs;
  assert.ok(waitedMs > WAIT_MS && waitedMs <= WAIT_MS + 3 * LOOK_MS, `${waitedMs}`);
});

test('after a pause of the process no promise is waited out at once', () => {
  const first = decidePromises(NEW_PROMISE_MEMORY, [lease('a', 1), lease('b', 1)], 0, LIMITS);
  const later = decidePromises(first.memory, [lease('a', 1), lease('b', 2)], 60_000, LIMITS);
  assert.deepEqual(later.due, []);
  const soon = decidePromises(later.memory, [lease('a', 1), lease('b', 3)], 60_500, LIMITS);
  assert.deepEqual(soon.due, []);
});

test('[SAFE-33] while no heartbeat arrives no promise is broken, and their silence counts for none afterwards', () => {
  const outage = (name: string) => (ms: number) => (ms < 40_000 ? lease(name, 1) : renewing(name, Infinity)(ms));
  const [a, b, c] = ['a', 'b', 'c'].map(outage);
  const late = (ms: number): Lease => (ms < 44_000 || c === undefined ? lease('c', 1) : c(ms));
  const due = watch((ms) => [a?.(ms), b?.(ms), late(ms)].filter((each) => each !== undefined), 80_000);
  assert.deepEqual([...due.keys()], []);
});

test('a node without a promise, and one with a broken promise, are ignored', () => {
  const plain = lease('a', 1, {});
  const broken = lease('c', 1, { [SELF_FENCING]: 'exclusive', [SELF_FENCING_BROKEN]: 'x' });
  assert.deepEqual([...watch((ms) => [plain, broken, alive(ms)], 60_000).keys()], []);
});

test('a recreated lease is another one, also at the same revision', () => {
  const first = decidePromises(NEW_PROMISE_MEMORY, [lease('a', 1), lease('b', 1)], 0, LIMITS);
  let memory = first.memory;
  for (let ms = 500; ms <= WAIT_MS; ms += LOOK_MS)
    memory = decidePromises(memory, [lease('a', 1), alive(ms)], ms, LIMITS).memory;
  const other = lease('a', 1);
  const again = { ...other, metadata: { ...other.metadata, uid: 'another' } };
  assert.deepEqual(decidePromises(memory, [again, alive(WAIT_MS + 400)], WAIT_MS + 400, LIMITS).due, []);
});
