import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Step } from '../../sim/hunt/plan.ts';
import { silencesOf } from './silences.ts';

const played = (step: Step) => [{ step, fromMs: 1_000, toMs: 3_000 }];

test('a server that is paused or cut off is silent until what was lost has been sent again', () => {
  const silent = { fromMs: 11_000, toMs: 20_000 };
  assert.deepEqual(silencesOf(played({ at: 1, do: 'pause', target: 'apiserver' }), 'S', 10_000), [
    { server: 0, ...silent },
  ]);
  assert.deepEqual(silencesOf(played({ at: 1, do: 'zone-cut', target: 'zone-3' }), 'H', 10_000), [
    { server: 2, ...silent },
  ]);
});

test('a server that is killed, or a scheduler that is cut off, is no reason to wait', () => {
  for (const step of [
    { at: 1, do: 'crash', target: 'apiserver' },
    { at: 1, do: 'pause', target: 'scheduler' },
  ] satisfies readonly Step[])
    assert.deepEqual(silencesOf(played(step), 'S', 0), []);
});
