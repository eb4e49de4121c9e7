import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '@holdfast/api';
import { maxReplicas, rolloutBounds } from './controllers/deployment/bounds.ts';
import { decide as decideJob } from './controllers/job/decide.ts';
import { IndexSet } from './controllers/job/indexes.ts';
import { decidePods } from './controllers/replicaset/decide.ts';
import { JOB_PODS_PER_PASS, REPLICASET_BURST_PODS } from './limits.ts';
import { deployment, job, replicaSet } from './testing/builders.ts';

/** The largest number that any of these fields takes. */
const INT32_MAX = 2_147_483_647;
const NOW = 1_767_225_600_000;

const podsOf = (spec: Partial<Job['spec']>, status: Job['status'] = {}): readonly (string | undefined)[] => {
  const snapshot = {
    job: { ...job(spec, { uid: 'job' }), status: { startTime: '2026-01-01T00:00:00Z', ...status } },
    pods: [],
    caughtUp: true,
    unansweredDeletes: new Set<string>(),
    avoidedNames: new Set<string>(),
  };
  return decideJob(snapshot, NOW).create.map(
    ({ metadata }) => metadata.annotations?.['batch.kubernetes.io/job-completion-index'],
  );
};

test('a ReplicaSet of two thousand million replicas builds one burst of pods', () => {
  const snapshot = {
    replicaSet: replicaSet({ replicas: INT32_MAX }, { uid: 'set' }),
    pods: [],
    caughtUp: true,
    unansweredDeletes: new Set<string>(),
    avoidedNames: new Set<string>(),
    relatedPodsPerNode: () => new Map<string, number>(),
  };
  assert.equal(decidePods(snapshot, NOW).length, REPLICASET_BURST_PODS);
});

test('a Job of two thousand million pods builds one burst of them, indexed or not', () => {
  assert.equal(podsOf({ completions: INT32_MAX, parallelism: INT32_MAX }).length, JOB_PODS_PER_PASS);
  const spec = { completionMode: 'Indexed', completions: INT32_MAX, parallelism: INT32_MAX, backoffLimitPerIndex: 1 };
  const indexes = podsOf(spec, { completedIndexes: `0-${INT32_MAX - 11}`, failedIndexes: `${INT32_MAX - 1}` });
  assert.deepEqual(
    indexes,
    Array.from({ length: 9 }, (_, i) => String(INT32_MAX - 10 + i)),
  );
  assert.equal(podsOf(spec).length, JOB_PODS_PER_PASS);
});

test('the cost of an index set depends on its intervals, not its indexes', () => {
  const most = IndexSet.parse(`0-${INT32_MAX - 3},${INT32_MAX - 1}`, INT32_MAX);
  assert.equal(most.size, INT32_MAX - 1);
  assert.deepEqual(most.firstMissing(5, INT32_MAX), [INT32_MAX - 2]);
  assert.equal(most.with([INT32_MAX - 2]).toString(), `0-${INT32_MAX - 1}`);
  assert.equal(IndexSet.parse(`5-${'9'.repeat(400)}`, 10).toString(), '5-9');
});

test('a percentage without bounds stays a valid API number', () => {
  const of = (maxSurge: string, replicas: number): number =>
    rolloutBounds(deployment({ replicas, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge } } })).maxSurge;
  assert.equal(of('4000000000%', 1000), INT32_MAX);
  assert.equal(of(`${'9'.repeat(400)}%`, 3), INT32_MAX);
  assert.equal(of(`${'9'.repeat(400)}%`, 0), 0);
  assert.ok(Number.isSafeInteger(maxReplicas(deployment({ replicas: INT32_MAX }))));
});
