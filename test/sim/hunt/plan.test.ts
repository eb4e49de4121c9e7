import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUS_FAULTS, DELAYS } from './kinds.ts';
import { heardKind } from './listeners.ts';
import { type HuntPlan, isCalm, planOf, type Step } from './plan.ts';

const SEEDS = Array.from({ length: 200 }, (_, i) => i + 1);

test('a plan follows from its seed, and its steps come in the order of time', () => {
  for (const seed of SEEDS) {
    const plan = planOf(seed);
    assert.deepEqual(planOf(seed), plan);
    const times = plan.steps.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.every((at) => at >= 0 && at <= plan.seconds));
  }
});

test('users meet an application at one moment while something delays what others hear', () => {
  const plans = SEEDS.map((seed) => planOf(seed));
  const meets = plans.filter(({ steps }) =>
    steps.some(
      ({ do: kind, at, for: lasts = 0 }) =>
        DELAYS.has(kind) &&
        steps.filter((step) => !DELAYS.has(step.do) && step.at > at && step.at < at + lasts).length > 3,
    ),
  );
  assert.ok(meets.length * 2 > plans.length, `${meets.length} of ${plans.length} plans`);
  assert.ok(plans.filter(isCalm).length * 6 > plans.length, 'some plans delay nothing');
});

test('users do after a moment what people do because of it', () => {
  const deletions = SEEDS.flatMap((seed) => planOf(seed).steps).filter((step) => step.do === 'delete-node');
  const because = deletions.filter(({ when }) => when === 'node-lost');
  assert.ok(because.length * 4 > deletions.length, `${because.length} of ${deletions.length} deletions`);
  assert.ok(because.length < deletions.length, 'others come at any time');
});

test('what is late or lost is what its process decides on', () => {
  const steps = SEEDS.flatMap((seed) => planOf(seed).steps).filter(({ do: kind }) => kind.endsWith('-kind'));
  assert.ok(steps.length > 20, `${steps.length} steps`);
  assert.ok(steps.every(({ target }) => !target.startsWith('apiserver')));
  const ofManagers = steps.filter(({ target }) => target.startsWith('controller-manager'));
  assert.ok(ofManagers.length * 5 > steps.length, `${ofManagers.length} of ${steps.length} steps`);
  assert.ok(new Set(ofManagers.map(heardKind)).size > 3);
  const ofNodes = steps.filter(({ target }) => target.startsWith('node-'));
  assert.deepEqual([...new Set(ofNodes.map(heardKind))], ['pods']);
});

test('an API server ends while something is delayed', () => {
  const isRestarted = ({ steps }: HuntPlan): boolean =>
    steps.some(
      ({ do: kind, at, for: lasts = 0 }) =>
        DELAYS.has(kind) &&
        !kind.startsWith('crash') &&
        steps.some(
          (step) =>
            step.do.startsWith('crash') && step.target.startsWith('apiserver') && step.at > at && step.at < at + lasts,
        ),
    );
  const plans = SEEDS.map((seed) => planOf(seed)).filter(({ steps }) => steps.some((step) => step.do === 'crash'));
  const restarted = plans.filter(isRestarted);
  assert.ok(restarted.length * 2 > plans.length, `${restarted.length} of ${plans.length} plans`);
});

test('users meet processes that have just started, and some stores are large', () => {
  const plans = SEEDS.map((seed) => planOf(seed));
  const meets = plans.filter(({ steps }) => steps.some(({ when }) => when === 'process-started'));
  assert.ok(meets.length * 4 > plans.length, `${meets.length} of ${plans.length} plans`);
  const large = plans.filter(({ isLarge }) => isLarge);
  assert.ok(large.length * 3 > plans.length && large.length * 3 < plans.length * 2, `${large.length} large stores`);
});

test('what the API servers have not published may end with all of them', () => {
  const isEnd = ({ do: kind, target }: Step): boolean => kind.startsWith('crash') && target.startsWith('apiserver');
  const endsOf = (plan: HuntPlan): readonly (readonly Step[])[] =>
    plan.steps.filter(isEnd).map(({ at }) => plan.steps.filter((step) => isEnd(step) && Math.abs(step.at - at) < 1));
  const plans = SEEDS.map((seed) => planOf(seed));
  const allEnd = plans.filter(({ apiServers, ...plan }) =>
    endsOf({ apiServers, ...plan }).some((ends) => new Set(ends.map(({ target }) => target)).size === apiServers),
  );
  assert.ok(allEnd.length * 6 > plans.length, `${allEnd.length} of ${plans.length} plans`);
});

test('two managers act where the bus has faults more often than elsewhere', () => {
  const share = (isOfBus: boolean): number => {
    const plans = SEEDS.map((seed) => planOf(seed));
    const some = plans.filter(({ steps }) => steps.some((step) => BUS_FAULTS.has(step.do)) === isOfBus);
    return some.filter(({ managers, isLeaderless }) => managers === 2 && isLeaderless === true).length / some.length;
  };
  assert.ok(share(true) > share(false) * 1.5, `${share(true)} and ${share(false)}`);
});

test('most plans with a fault of the bus begin when the bus is all that is heard', () => {
  const plans = SEEDS.map((seed) => planOf(seed));
  const [ofBus, others] = [true, false].map((is) =>
    plans.filter(({ steps }) => steps.some((step) => BUS_FAULTS.has(step.do)) === is),
  );
  const rested = (some: readonly HuntPlan[] = []): number =>
    some.filter(({ isRested }) => isRested).length / some.length;
  assert.ok(rested(ofBus) > 0.7, `${rested(ofBus)}`);
  assert.ok(rested(others) > 0.1 && rested(others) < 0.5, `${rested(others)}`);
});
