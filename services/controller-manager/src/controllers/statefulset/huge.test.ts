import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, StatefulSet } from '@holdfast/api';
import { STATEFUL_SET_BURST_PODS } from '../../limits.ts';
import { pod, readyStatus, statefulSet } from '../../testing/builders.ts';
import { decide, type StatefulSetAction } from './decide.ts';
import { buildPod } from './identity.ts';

const NOW = 1_767_225_600_000;
const INT32_MAX = 2_147_483_647;

const named = (spec: Partial<StatefulSet['spec']>): StatefulSet =>
  statefulSet({ replicas: INT32_MAX, ...spec }, { uid: 'set', generation: 1 });

const act = (set: StatefulSet, pods: readonly Pod[] = []): readonly StatefulSetAction[] =>
  decide({ set, pods, revisions: undefined, caughtUp: true }, NOW);

function running(set: StatefulSet, ordinal: number): Pod {
  const built = buildPod(set, ordinal, { name: 'old', template: set.spec.template });
  return { ...built, metadata: { ...built.metadata, uid: `p${ordinal}` }, status: readyStatus('2025-12-31T00:00:00Z') };
}

test('two thousand million replicas are created in bursts, parallel as well as ordered', () => {
  const created = (actions: readonly StatefulSetAction[]): readonly string[] =>
    actions.flatMap((action) => (action.type === 'create-pod' ? [action.pod.metadata.name ?? ''] : []));
  const parallel = named({ podManagementPolicy: 'Parallel' });
  const first = created(act(parallel));
  assert.equal(first.length, STATEFUL_SET_BURST_PODS);
  assert.deepEqual([first[0], first.at(-1)], ['db-0', `db-${STATEFUL_SET_BURST_PODS - 1}`]);
  const next = created(act(parallel, [running(parallel, 0), running(parallel, 2)]));
  assert.deepEqual([next.length, next[0], next[1]], [STATEFUL_SET_BURST_PODS, 'db-1', 'db-3']);
  assert.deepEqual(created(act(named({}))), ['db-0']);
  const shifted = named({ ordinals: { start: INT32_MAX - 1 }, podManagementPolicy: 'Parallel' });
  assert.equal(created(act(shifted))[0], `db-${INT32_MAX - 1}`);
});

test('a pod beyond the desired ordinals is deleted, however many are desired', () => {
  const set = named({ replicas: INT32_MAX - 1, ordinals: { start: 1 }, podManagementPolicy: 'Parallel' });
  const beyond = pod(running(set, 0).metadata, readyStatus('2025-12-31T00:00:00Z'));
  const ended = act(set, [beyond]).filter((action) => action.type === 'delete-pod');
  assert.deepEqual(
    ended.map(({ pod: { metadata } }) => metadata.name),
    ['db-0'],
  );
});
