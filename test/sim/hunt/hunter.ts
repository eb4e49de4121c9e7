import type { Scenario } from '../../scenario/model.ts';
import { scenarioOf } from '../../scenario/plans.ts';
import { type HuntPlan, type ProfileName, planOf } from './plan.ts';
import { type HuntOutcome, runPlan } from './run.ts';
import { shrink } from './shrink.ts';
import type { Violation } from './violation.ts';

/** Tries to make a schedule smaller. */
export const SHRINK_RUNS = 100;

export interface SeedReport {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedSeconds: number;
  readonly scenario?: Scenario;
}

export interface HuntOptions {
  /** Maximum attempts to shrink a failure. */
  readonly shrinkRuns: number;
  /** The bug with which this process was loaded. */
  readonly planted: string | undefined;
  readonly profile: ProfileName;
}

/** Runs one fresh seed and shrinks its failure as far as possible. */
export async function huntSeed(seed: number, options: HuntOptions): Promise<SeedReport> {
  const plan = planOf(seed, options.profile);
  const outcome = await runPlan(plan);
  const { steps, simulatedSeconds } = outcome;
  const report = { seed, steps, simulatedSeconds };
  if (outcome.violation === undefined) return report;
  return { ...report, scenario: await smallest(plan, outcome, options) };
}

/** The smallest schedule with the same finding, and what it finds. */
async function smallest(plan: HuntPlan, found: HuntOutcome, options: HuntOptions): Promise<Scenario> {
  let last = found;
  const stillFails = async (smaller: HuntPlan): Promise<boolean> => {
    const again = await runPlan(smaller);
    if (again.violation?.rule !== found.violation?.rule) return false;
    last = again;
    return true;
  };
  const result = await shrink(plan, stillFails, options.shrinkRuns);
  return foundBy(result.plan, last.violation, options.planted);
}

/** The scenario of a plan that broke a rule. */
export function foundBy(plan: HuntPlan, violation: Violation | undefined, planted?: string): Scenario {
  const { rule = '', story = '' } = violation ?? {};
  const found = { rule, story, ...(planted === undefined ? {} : { planted }) };
  return scenarioOf(plan, { name: `seed ${plan.seed}: ${rule}`, found });
}
