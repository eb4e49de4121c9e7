import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../clock.ts';

/** A clock under test and a way to advance its time. */
export interface ClockUnderTest {
  readonly clock: Clock;
  readonly advance: (ms: number) => Promise<void>;
}

/** Tests the contract of `Clock` for the system clock and for simulated ones. */
export function clockContract(name: string, create: () => ClockUnderTest): void {
  test(`${name}: a timer fires once, after its delay, never synchronously`, async () => {
    const { clock, advance } = create();
    const startedAt = clock.monotonic();
    const fired: number[] = [];
    clock.timer(20, () => fired.push(clock.monotonic() - startedAt));
    assert.deepEqual(fired, []);
    await advance(100);
    assert.equal(fired.length, 1);
    // A system timer may round down by less than a millisecond.
    assert.ok((fired[0] ?? 0) >= 19, `fired after ${fired[0]} ms`);
  });

  test(`${name}: a timer of no delay still waits for its turn`, async () => {
    const { clock, advance } = create();
    let fired = false;
    clock.timer(0, () => {
      fired = true;
    });
    assert.equal(fired, false);
    await advance(20);
    assert.equal(fired, true);
  });

  test(`${name}: timers fire in the order of their times`, async () => {
    const { clock, advance } = create();
    const order: string[] = [];
    // The delays differ so much that a pause of the machine between the two lines changes nothing.
    clock.timer(500, () => order.push('late'));
    clock.timer(10, () => order.push('early'));
    await advance(600);
    assert.deepEqual(order, ['early', 'late']);
  });

  test(`${name}: a cancelled timer never fires, and cancelling again is harmless`, async () => {
    const { clock, advance } = create();
    const timer = clock.timer(5, () => assert.fail('a cancelled timer fired'));
    timer.cancel();
    timer.cancel();
    await advance(50);
  });

  test(`${name}: sleep ends with the reason of its signal`, async () => {
    const { clock, advance } = create();
    const controller = new AbortController();
    const asleep = assert.rejects(clock.sleep(60_000, controller.signal), /enough/);
    controller.abort(new Error('enough'));
    await advance(5);
    await asleep;
    await assert.rejects(clock.sleep(1, controller.signal), /enough/);
  });

  test(`${name}: monotonic time never goes back and now() is a time of this century`, async () => {
    const { clock, advance } = create();
    let last = clock.monotonic();
    for (let i = 0; i < 10; i++) {
      await advance(2);
      const current = clock.monotonic();
      assert.ok(current >= last);
      last = current;
    }
    assert.ok(clock.now() > 946_684_800_000 && clock.now() < 4_102_444_800_000);
  });
}
