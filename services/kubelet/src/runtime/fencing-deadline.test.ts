import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deadlineAfter, type FencingClass, isCoveredBy, isPast, mayStart } from './fencing-deadline.ts';

const D_MS = 8_000;
const step = fc.record({
  afterMs: fc.integer({ min: 0, max: 4_000 }),
  what: fc.constantFrom('renew', 'confirm', 'start'),
  answerMs: fc.integer({ min: 0, max: 12_000 }),
});

test('[FENCE-06] with any delays: no process of an exclusive pod lives unless a renewal sent less than D ago was acknowledged', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let nowMs = 0;
      let untilMs = 0;
      let confirmed: number | undefined;
      let aliveSinceMs: number | undefined;
      const acknowledged: { readonly sentAtMs: number; readonly atMs: number }[] = [];
      const sent: { readonly sentAtMs: number; readonly atMs: number }[] = [];
      const settle = (): void => {
        for (const renewal of sent.splice(0).sort((a, b) => a.atMs - b.atMs)) {
          if (renewal.atMs > nowMs) sent.push(renewal);
          else {
            acknowledged.push(renewal);
            untilMs = Math.max(untilMs, deadlineAfter(renewal.sentAtMs, D_MS));
          }
        }
        // Keepers look all the time.
        if (isPast({ untilMs, policy: 'exclusive' }, nowMs)) aliveSinceMs = undefined;
      };
      for (const { afterMs, what, answerMs } of steps) {
        nowMs += afterMs;
        settle();
        const deadline = { untilMs, policy: 'exclusive' } as const;
        if (what === 'renew') sent.push({ sentAtMs: nowMs, atMs: nowMs + answerMs });
        else if (what === 'confirm') confirmed = isPast(deadline, nowMs) ? undefined : untilMs;
        else if (mayStart(deadline, 'exclusive', { startBeforeMs: confirmed, nowMs })) {
          assert.ok(
            confirmed !== undefined && nowMs < confirmed,
            'confirmed under a deadline that has not passed since',
          );
          aliveSinceMs = nowMs;
        }
        const holds = acknowledged.some(({ sentAtMs }) => nowMs - sentAtMs < D_MS);
        if (aliveSinceMs !== undefined) assert.ok(holds, `alive at ${nowMs}`);
      }
    }),
    { numRuns: 500 },
  );
});

test('a start that the API confirmed under an earlier promise is refused, also when another promise holds', () => {
  const deadline = { untilMs: 100_000, policy: 'exclusive' } as const;
  assert.ok(!mayStart(deadline, 'exclusive', { startBeforeMs: 20_000, nowMs: 95_000 }));
  assert.ok(
    !mayStart(deadline, 'exclusive', { startBeforeMs: undefined, nowMs: 95_000 }),
    'confirmed under no promise',
  );
  assert.ok(mayStart(deadline, 'exclusive', { startBeforeMs: 100_000, nowMs: 95_000 }));
  assert.ok(!mayStart(deadline, 'exclusive', { startBeforeMs: 100_000, nowMs: 100_000 }));
  assert.ok(!mayStart(undefined, 'exclusive', { startBeforeMs: 20_000, nowMs: 95_000 }), 'the promise was taken back');
  assert.ok(mayStart(undefined, 'exclusive', { startBeforeMs: undefined, nowMs: 95_000 }));
});

test('a deadline ends what its policy covers, and every sandbox from before promises existed', () => {
  const classes: readonly (FencingClass | undefined)[] = [undefined, 'exclusive', 'other', 'never'];
  assert.deepEqual(
    classes.map((each) => isCoveredBy('exclusive', each)),
    [true, true, false, false],
  );
  assert.deepEqual(
    classes.map((each) => isCoveredBy('all', each)),
    [true, true, true, false],
  );
  assert.ok(mayStart({ untilMs: 1, policy: 'exclusive' }, 'other', { startBeforeMs: undefined, nowMs: 5 }));
});
