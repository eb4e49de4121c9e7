import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import fc from 'fast-check';
import { pod } from '../../testing/builders.ts';
import type { PodUsage } from './metrics-source.ts';
import { MetricError, type Proposal, proposeReplicas, type ResourceTarget } from './replica-count.ts';
import { AUTOSCALING_DEFAULTS } from './settings.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

interface Plan {
  readonly name: string;
  /** Thousandths of a core; absent without a measurement. */
  readonly used?: number;
  readonly phase?: string;
  readonly ready?: 'True' | 'False';
  readonly startedAgoMs?: number;
  readonly changedAgoMs?: number;
  readonly request?: string | undefined;
}

function podOf({ name, phase = 'Running', ready = 'True', startedAgoMs = 60 * MINUTE, ...rest }: Plan): Pod {
  const { changedAgoMs = startedAgoMs } = rest;
  const at = (agoMs: number): string => formatTime(NOW - agoMs);
  const status = {
    phase,
    startTime: at(startedAgoMs),
    conditions: [{ type: 'Ready', status: ready, lastTransitionTime: at(changedAgoMs) }],
  };
  const request = 'request' in rest ? rest.request : '100m';
  const resources = request === undefined ? {} : { requests: { cpu: request } };
  return pod({ name }, status, { containers: [{ name: 'main', image: 'i', resources }] });
}

const usageOf = ({ name, used }: Plan): readonly PodUsage[] =>
  used === undefined
    ? []
    : [{ pod: name, takenAtMs: NOW - 5_000, windowMs: 10_000, containers: [{ name: 'main', usage: { cpu: used } }] }];

const HALF: ResourceTarget = { resource: 'cpu', wanted: { utilization: 50 } };
const FIFTY: ResourceTarget = { resource: 'cpu', wanted: { averageMilli: 50 } };

function propose(plans: readonly Plan[], target = HALF, currentReplicas = plans.length): Proposal {
  const measured = { pods: plans.map(podOf), usage: plans.flatMap(usageOf), currentReplicas };
  return proposeReplicas({ ...measured, now: NOW, settings: AUTOSCALING_DEFAULTS }, target);
}

const alike = (count: number, used: number): readonly Plan[] =>
  Array.from({ length: count }, (_, i) => ({ name: `p${i}`, used }));

test('the replica count brings the utilization, or the amount per pod, to its target', () => {
  assert.deepEqual(propose(alike(2, 100)), { replicas: 4, averageMilli: 100, utilization: 100 });
  assert.deepEqual(propose(alike(4, 20)), { replicas: 2, averageMilli: 20, utilization: 20 });
  assert.deepEqual(propose(alike(3, 80), FIFTY), { replicas: 5, averageMilli: 80 });
});

test('a deviation of a tenth causes no change', () => {
  assert.equal(propose(alike(10, 54)).replicas, 10);
  assert.equal(propose(alike(10, 45)).replicas, 10);
  assert.equal(propose(alike(10, 56)).replicas, 12);
  assert.equal(propose(alike(10, 44)).replicas, 9);
});

test('unmeasured pods count as busy before scale-down, as idle before scale-up', () => {
  assert.equal(propose([...alike(4, 10), { name: 'x' }]).replicas, 3, '40 + 100 of 500 are 28 %');
  assert.equal(propose([...alike(2, 100), { name: 'x' }]).replicas, 4, '200 of 300 are 66 %');
  assert.equal(propose([...alike(4, 45), { name: 'x' }]).replicas, 5, 'the direction must not turn');
  assert.equal(propose([...alike(2, 10), { name: 'x' }], FIFTY).replicas, 2, '10 + 10 + 50 of 150');
});

test('starting pods count as idle for scale-up, otherwise not at all', () => {
  const starting = { phase: 'Pending' };
  assert.equal(propose([...alike(2, 100), { name: 'x', ...starting }]).replicas, 4);
  assert.equal(propose([...alike(2, 20), { name: 'x', ...starting }]).replicas, 1);
  const fresh = { used: 1_000, startedAgoMs: MINUTE, changedAgoMs: 12_000 };
  assert.equal(propose([...alike(4, 50), { name: 'x', ...fresh }]).replicas, 5, 'measured before it was ready');
  const settled = { ...fresh, changedAgoMs: 20_000 };
  assert.equal(propose([...alike(4, 50), { name: 'x', ...settled }]).replicas, 24);
  const neverReady = { used: 1_000, ready: 'False', startedAgoMs: 20 * MINUTE, changedAgoMs: 20 * MINUTE } as const;
  assert.equal(propose([...alike(4, 50), { name: 'x', ...neverReady }]).replicas, 5);
  const onceReady = { ...neverReady, changedAgoMs: MINUTE } as const;
  assert.equal(propose([...alike(4, 50), { name: 'x', ...onceReady }]).replicas, 24, 'busy enough to fail its probes');
});

test('failed and terminating pods are not counted', () => {
  assert.equal(propose([...alike(2, 100), { name: 'x', used: 900, phase: 'Failed' }]).replicas, 4);
});

test('a failed computation has the message of Kubernetes', () => {
  const says = (plans: readonly Plan[], message: string, target = HALF): void =>
    assert.throws(() => propose(plans, target), new MetricError(message));
  says([{ name: 'a' }], 'unable to get metrics for resource cpu: no metrics returned from resource metrics API');
  says([{ name: 'a', used: 1, request: undefined }], 'missing request for cpu in container main of Pod a');
  says([{ name: 'a', used: 1, phase: 'Pending' }], 'did not receive metrics for targeted pods (pods might be unready)');
  says(
    [{ name: 'a', used: 1 }],
    'unable to get metrics for resource cpu: failed to get container metrics: container side not present in metrics for pod a',
    { ...HALF, container: 'side' },
  );
});

test('with any metrics: the count grows only above the target and shrinks only below it', () => {
  const plan = fc.record({
    used: fc.option(fc.nat(400), { nil: undefined }),
    phase: fc.constantFrom('Running', 'Pending'),
  });
  const size = fc.integer({ min: 1, max: 30 });
  fc.assert(
    fc.property(fc.array(plan, { minLength: 1, maxLength: 20 }), size, fc.boolean(), (rest, replicas, isRelative) => {
      const plans = [{ name: 'first', used: 60 }, ...rest.map((each, i) => named(each, `p${i}`))];
      const { replicas: proposed, averageMilli } = propose(plans, isRelative ? HALF : FIFTY, replicas);
      assert.ok(Number.isSafeInteger(proposed) && proposed >= 0);
      const running = plans.filter((each) => !('phase' in each) || each.phase === 'Running').length;
      if (averageMilli <= 50) assert.ok(proposed <= Math.max(replicas, running), 'nothing is added when all are idle');
      if (averageMilli >= 56 && running >= replicas)
        assert.ok(proposed >= replicas, 'nothing is taken when all are busy');
    }),
  );
});

const named = ({ used, phase }: { used: number | undefined; phase: string }, name: string): Plan => ({
  name,
  phase,
  ...(used === undefined ? {} : { used }),
});
