import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS } from '@holdfast/api';
import { type BringUp, bootedData, startOf } from './booted.ts';
import { type HuntPlan, PROFILES, planOf } from './plan.ts';
import { Hunt } from './run.ts';

const PLAN: HuntPlan = {
  seed: 3,
  nodes: 2,
  apiServers: 1,
  schedulers: 1,
  managers: 1,
  hasFencer: false,
  seconds: 1,
  steps: [],
};
const bringUp: BringUp = (shape, data) => new Hunt(shape, { data }).comeUp();

test('a seed continues a cluster that has come up: every pod and its processes stay', async () => {
  const data = await startOf(PLAN, bringUp);
  assert.ok(data !== undefined);
  assert.equal(data.machines?.size, PLAN.nodes, 'the seed does not create its applications');
  const uidsBefore = data.objects
    .filter(({ key }) => key.startsWith('core/pods/'))
    .map(({ value }) => (JSON.parse(value) as { metadata: { uid: string } }).metadata.uid);
  const hunt = new Hunt(PLAN, { data });
  assert.equal((await hunt.run())?.story, undefined);
  const after = hunt.cluster.committed.list(PODS).filter(({ status }) => status.phase === 'Running');
  assert.deepEqual(new Set(after.map(({ metadata }) => metadata.uid)), new Set(uidsBefore));
  assert.equal(uidsBefore.length, 8);
  assert.ok(hunt.cluster.oracle.startCount >= uidsBefore.length, 'the oracle knows their processes');
  const again = new Hunt(PLAN, { data });
  await again.run();
  assert.equal(again.cluster.kernel.traceHash(), hunt.cluster.kernel.traceHash(), 'a run changes nothing of its start');
});

test('no two objects of a cluster that has come up have one uid', async () => {
  const { objects = [] } = (await startOf(PLAN, bringUp)) ?? {};
  const uids = objects.map(({ value }) => (JSON.parse(value) as { metadata: { uid: string } }).metadata.uid);
  assert.ok(uids.length > 20);
  assert.deepEqual(
    uids.filter((uid, i) => uids.indexOf(uid) !== i),
    [],
  );
});

test('a cluster that does not come up leaves its seeds the control plane alone', async () => {
  const plan = { ...PLAN, nodes: 1 };
  const failing: BringUp = () => Promise.reject(new Error('a planted bug'));
  assert.equal(await startOf(plan, failing), await bootedData());
  assert.equal(await startOf({ ...plan, startsEmpty: true }, failing), undefined);
});

test('the worlds of a profile have its size', () => {
  for (const profile of ['short', 'standard', 'long'] as const) {
    const { nodes, seconds } = PROFILES[profile];
    for (let seed = 1; seed <= 50; seed++) {
      const plan = planOf(seed, profile);
      assert.ok(plan.nodes >= nodes[0] && plan.nodes <= nodes[1], `${profile} ${seed}`);
      assert.ok(plan.seconds >= seconds[0] && plan.seconds <= seconds[1], `${profile} ${seed}`);
    }
  }
});
