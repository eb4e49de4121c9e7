import { type HuntPlan, planOf } from './plan.ts';
import { runPlan, type Violation } from './run.ts';
import { type ScenarioFile, scenarioOf } from './scenario-file.ts';
import { shrink } from './shrink.ts';

/** Tries to make a schedule smaller. */
export const SHRINK_RUNS = 60;

export interface SeedReport {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedSeconds: number;
  readonly scenario?: ScenarioFile;
}

export interface HuntOptions {
  /** Maximum attempts to shrink a failure. */
  readonly shrinkRuns: number;
  /** The bug with which this process was loaded. */
  readonly planted: string | undefined;
}

/** Runs one fresh seed and shrinks its failure as far as possible. */
export async function huntSeed(seed: number, options: HuntOptions): Promise<SeedReport> {
  const plan = planOf(seed);
  const { violation, steps, simulatedSeconds } = await runPlan(plan);
  const report = { seed, steps, simulatedSeconds };
  if (violation === undefined) return report;
  const smaller = await smallest(plan, violation, options.shrinkRuns);
  return { ...report, scenario: scenarioOf(smaller.plan, smaller.violation, options.planted) };
}

async function smallest(
  plan: HuntPlan,
  found: Violation,
  runs: number,
): Promise<{ plan: HuntPlan; violation: Violation }> {
  let violation = found;
  const stillFails = async (smaller: HuntPlan): Promise<boolean> => {
    const again = (await runPlan(smaller)).violation;
    if (again?.rule !== found.rule) return false;
    violation = again;
    return true;
  };
  const result = await shrink(plan, stillFails, runs);
  return { plan: result.plan, violation };
}
