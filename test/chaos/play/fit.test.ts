import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScenario } from '../../scenario/parse.ts';
import { scenarioOf } from '../../scenario/plans.ts';
import { printScenario } from '../../scenario/print.ts';
import { planOf } from '../../sim/hunt/plan.ts';
import type { FormName } from '../support/compose-form.ts';
import { fitForContainers } from './fit.ts';
import { canForm, refusalsOf } from './refusals.ts';

for (const form of ['S', 'H'] as const)
  test(`whatever the hunt draws, what is left of it for containers of form ${form} is not refused by them`, () => {
    let steps = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const plan = fitForContainers(planOf(seed), (kind) => canForm(kind, form), form);
      const scenario = parseScenario(printScenario(scenarioOf(plan, { name: 'drawn' })));
      assert.deepEqual(refusalsOf(scenario), [], String(seed));
      steps += plan.steps.length;
    }
    assert.ok(steps > 300, `${steps} steps are left`);
  });

test('form H meets faults of whole zones and losses of the leader, form S does not', () => {
  const kindsOf = (form: FormName): ReadonlySet<string> => {
    const plans = Array.from({ length: 20 }, (_, seed) =>
      fitForContainers(planOf(seed, 'short'), (kind) => kind.startsWith('zone-'), form),
    );
    return new Set(plans.flatMap(({ steps }) => steps.map((step) => step.do)));
  };
  const ofZones = ['store-failover', 'zone-cut', 'zone-loss', 'zone-upgrade'];
  assert.deepEqual(kindsOf('S').intersection(new Set(ofZones)), new Set());
  assert.deepEqual([...kindsOf('H').intersection(new Set(ofZones))].toSorted(), ofZones);
});

test('both forms meet faults of their surroundings, and each those of its store', () => {
  const own = (form: FormName): readonly string[] => [
    ...new Set(
      Array.from({ length: 20 }, (_, seed) =>
        fitForContainers(planOf(seed, 'short'), (kind) => canForm(kind, form), form),
      )
        .flatMap(({ steps }) => steps.map((step) => step.do))
        .filter((kind) => /^(?:no-names|expired-certificate|store-(?:moved|rewrites|torn))$/.test(kind)),
    ),
  ];
  assert.deepEqual(own('S').toSorted(), ['expired-certificate', 'no-names', 'store-rewrites', 'store-torn']);
  assert.deepEqual(own('H').toSorted(), ['expired-certificate', 'no-names', 'store-moved']);
});
