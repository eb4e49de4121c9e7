import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { RUNTIME_RELIST_MS } from '../limits.ts';
import type { ContainerStatus, SandboxStatus } from '../runtime/port.ts';
import { untilContainerEnds } from './container-life.ts';

/** A runtime with one container, which says what the test lets it say. */
function watched() {
  const clock = createVirtualClock();
  const listeners = new Set<(podUid: string) => void>();
  const state = { container: 'running' as ContainerStatus['state'] | undefined, isSilent: false, looks: 0 };
  const runtime = {
    list: async () => {
      state.looks++;
      if (state.isSilent) throw new Error('no answer');
      const containers = state.container === undefined ? [] : [{ id: 'c1', state: state.container }];
      return [{ containers }] as unknown as SandboxStatus[];
    },
    onChange: (listener: (podUid: string) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const caller = new AbortController();
  const outcome = { ended: false, error: undefined as unknown };
  void untilContainerEnds({ runtime, clock }, { id: 'c1', podUid: 'u1' }, caller.signal).then(
    () => {
      outcome.ended = true;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  const hint = (podUid: string): void => {
    for (const listener of listeners) listener(podUid);
  };
  return { clock, state, listeners, caller, outcome, hint };
}

test('the end of a container is seen with the hint of its runtime, and leaves nothing behind', async () => {
  for (const container of ['exited', undefined] as const) {
    const { clock, state, listeners, outcome, hint } = watched();
    await clock.advance(0);
    state.container = container;
    hint('u2');
    await clock.advance(10);
    assert.deepEqual([outcome.ended, state.looks], [false, 1], 'another pod has changed');
    hint('u1');
    await clock.advance(10);
    assert.deepEqual([outcome.ended, listeners.size], [true, 0]);
  }
});

test('an end without a hint is seen when the runtime is looked at again', async () => {
  const { clock, state, outcome } = watched();
  await clock.advance(0);
  state.container = 'exited';
  await clock.advance(RUNTIME_RELIST_MS - 1);
  assert.equal(outcome.ended, false);
  await clock.advance(1);
  assert.equal(outcome.ended, true);
});

test('an end that is hinted at while the runtime answers is not missed', async () => {
  const { clock, state, outcome, hint } = watched();
  state.container = 'exited';
  hint('u1');
  await clock.advance(10);
  assert.equal(outcome.ended, true);
});

test('a container that is created, and one whose runtime is silent, has not ended', async () => {
  const { clock, state, outcome, hint } = watched();
  state.isSilent = true;
  hint('u1');
  await clock.advance(2 * RUNTIME_RELIST_MS);
  assert.equal(outcome.ended, false);
  state.isSilent = false;
  state.container = 'created';
  await clock.advance(2 * RUNTIME_RELIST_MS);
  assert.equal(outcome.ended, false);
});

test('a caller that gives up leaves nothing behind', async () => {
  const { clock, state, listeners, caller, outcome } = watched();
  await clock.advance(0);
  const stopped = new Error('stopped');
  caller.abort(stopped);
  await clock.advance(3 * RUNTIME_RELIST_MS);
  assert.deepEqual([outcome.error, listeners.size, state.looks], [stopped, 0, 1]);
});
