import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextTurn } from '@holdfast/platform';
import type { HuntPlan } from './plan.ts';
import { Hunt } from './run.ts';

const TURNS = 20;
/** Watches are open at the end, and an API server with a cache crashes and never stops. */
const PLAN: HuntPlan = {
  seed: 1,
  nodes: 2,
  apiServers: 2,
  schedulers: 1,
  managers: 1,
  hasFencer: false,
  seconds: 3,
  steps: [{ at: 1, do: 'crash', target: 'apiserver-2', for: 1 }],
};

async function play(): Promise<WeakRef<object>> {
  const hunt = new Hunt(PLAN);
  assert.equal((await hunt.run())?.story, undefined);
  return new WeakRef(hunt.cluster.kernel);
}

test('a run that is over leaves nothing in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const played = await play();
  for (let turn = 0; turn < TURNS && played.deref() !== undefined; turn++) {
    await nextTurn();
    collect();
  }
  assert.equal(played.deref(), undefined, 'something outside the run still holds its objects');
});
