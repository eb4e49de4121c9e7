import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { type Growth, type GrowthLab, isStall, startGrowthLab } from './growth.ts';
import { SCENARIOS } from './growth-scenarios.ts';
import { nameOf, TEXTS, textFields, VARIANTS, type Variant, type WideField, wideFields } from './wide-documents.ts';

/** The maximum entries of one list. */
const ENTRIES = 10_000;
const CHARACTERS = 100_000;
/** Tests a sample of some hundred lists and thousands of strings; `node bench/growth.ts` tests all. */
const TRIES = 12;
/** Cases with (nearly) quadratic cost in the past. */
const ONCE_FOUND = [
  'resourcequotas. spec.hard',
  'resourcequotas. spec.scopes',
  'pods. spec.topologySpreadConstraints',
  'pods. spec.tolerations',
  'services. spec.ports',
  'pods. spec.containers.0.ports',
  'validatingadmissionpolicies.admissionregistration.k8s.io spec.variables',
];

describe('the cost of a request grows no faster than its size', () => {
  let lab: GrowthLab;
  before(async () => {
    lab = await startGrowthLab();
  });
  after(() => lab.stop());

  const refuseStalls = async (field: WideField, variant: Variant, size: number): Promise<void> => {
    const suspected = (await lab.measure(field, { variant, size, runs: 1 })).filter(isStall);
    if (suspected.length === 0) return;
    // Once may be a coincidence: rubbish of others was collected just then.
    const stalls = (await lab.measure(field, { variant, size, runs: 4 })).filter(isStall);
    assert.deepEqual(stalls, []);
  };

  for (const name of ONCE_FOUND) {
    test(`${name}, at any length`, async () => {
      const field = wideFields().find((each) => nameOf(each) === name) ?? assert.fail(`no such list: ${name}`);
      for (const variant of VARIANTS) await refuseStalls(field, variant, ENTRIES);
    });
  }

  test('selectors, forms, JSON patches, owners, schemas, expressions and answers of webhooks', async () => {
    const stalls: Growth[] = [];
    for (const scenario of SCENARIOS) {
      if (!isStall(await lab.compare(scenario, 1))) continue;
      const again = await lab.compare(scenario, 4);
      if (isStall(again)) stalls.push(again);
    }
    assert.deepEqual(stalls, []);
  });

  const sample = (fields: readonly WideField[], variants: readonly Variant[], size: number): Promise<void> =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...fields).map((field) => Object.assign(field, { [fc.toStringMethod]: () => nameOf(field) })),
        fc.constantFrom(...variants),
        (field, variant) => refuseStalls(field, variant, size),
      ),
      { numRuns: TRIES, seed: 14, endOnFailure: true },
    );

  test('lists and maps of all kinds', () => sample(wideFields(), VARIANTS, ENTRIES));
  test('texts of all kinds', () => sample(textFields(), TEXTS, CHARACTERS));
});
