import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coverage } from './coverage.ts';
import { Feedback } from './feedback.ts';
import { KINDS } from './kinds.ts';
import { mutated } from './mutate.ts';
import { planOf, targetsOf } from './plan.ts';
import { runPlan } from './run.ts';

const SEEDS = Array.from({ length: 200 }, (_, i) => i + 1);
const isMutantOf = (seed: number, feedback: Feedback): boolean =>
  JSON.stringify(feedback.next(seed)) !== JSON.stringify(planOf(seed));

test('a plan that reached something new is mutated, and others are not', () => {
  const feedback = new Feedback('standard');
  feedback.learn(planOf(1), []);
  assert.deepEqual(
    SEEDS.filter((seed) => isMutantOf(seed, feedback)),
    [],
  );
  feedback.learn(planOf(1), ['a conflict', 'a crash']);
  feedback.learn(planOf(2), ['a crash']);
  const mutants = SEEDS.map((seed) => feedback.next(seed)).filter(
    (plan, i) => plan.nodes !== planOf(SEEDS[i] ?? 0).nodes || !sameForm(plan, SEEDS[i] ?? 0),
  );
  assert.ok(mutants.length * 4 > SEEDS.length && mutants.length < SEEDS.length, `${mutants.length} mutants`);
  assert.ok(mutants.every(({ seconds }) => seconds === planOf(1).seconds));
  assert.equal(feedback.size, 2);
});

const sameForm = (plan: ReturnType<typeof planOf>, seed: number): boolean => plan.seconds === planOf(seed).seconds;

test('the plan with the most news and the fewest mutants comes first', () => {
  const feedback = new Feedback('standard');
  feedback.learn(planOf(1), ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']);
  feedback.learn(planOf(2), ['k', 'l', 'm', 'n']);
  const parents = SEEDS.map((seed) => feedback.next(seed)).flatMap(({ seconds }, i) =>
    seconds === planOf(SEEDS[i] ?? 0).seconds ? [] : [seconds],
  );
  assert.equal(parents[0], planOf(1).seconds);
  assert.ok(parents.includes(planOf(2).seconds));
});

test('a mutant is a plan: its steps come in order, in its time, and concern what it has', () => {
  const parent = planOf(3);
  for (const seed of SEEDS) {
    const { steps, seconds } = mutated(parent, seed, planOf(seed));
    assert.deepEqual(mutated(parent, seed, planOf(seed)).steps, steps, 'it follows from its seed');
    const times = steps.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.every((at) => at >= 0 && at <= seconds));
    for (const { do: kind, target } of steps)
      if (/^(node|apiserver|scheduler|controller-manager)(-\d)?$/.test(target))
        assert.ok(targetsOf(KINDS[kind].targets, parent).includes(target), `${kind} ${target}`);
  }
});

test('what watches a run changes nothing of it, and tells decisions under faults', async () => {
  const steps = [
    { at: 1, do: 'late-kind', target: 'controller-manager', for: 8, value: 1_000 },
    { at: 2, do: 'delete-pod', target: 'web' },
  ] as const;
  const plan = { ...planOf(1), nodes: 2, hasFencer: false, isRested: false, seconds: 10, steps };
  const coverage = new Coverage();
  const watched = await runPlan(plan, { coverage });
  const alone = await runPlan(plan);
  assert.equal(watched.violation, undefined, watched.violation?.story);
  assert.deepEqual([watched.traceHash, watched.steps], [alone.traceHash, alone.steps]);
  const reached = [...coverage.reached()];
  assert.ok(reached.some((each) => each.startsWith('system:kube-controller-manager create pods')));
  assert.ok(reached.some((each) => each.includes('delete pods') && each.endsWith('/ late-kind controller-manager')));
});
