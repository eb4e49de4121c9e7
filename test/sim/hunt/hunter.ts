import type { Scenario } from '../../scenario/model.ts';
import { scenarioOf } from '../../scenario/plans.ts';
import { Coverage } from './coverage.ts';
import { Feedback } from './feedback.ts';
import type { HuntPlan, ProfileName } from './plan.ts';
import { type HuntOutcome, runPlan } from './run.ts';
import { shrink } from './shrink.ts';
import type { Violation } from './violation.ts';

/** Tries to make a schedule smaller. */
export const SHRINK_RUNS = 100;

export interface SeedReport {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedSeconds: number;
  /** How many steps the plan had. */
  readonly drawn: number;
  /** How much the hunt has reached up to then. */
  readonly reached: number;
  readonly scenario?: Scenario;
}

export interface HuntOptions {
  /** Maximum attempts to shrink a failure. */
  readonly shrinkRuns: number;
  /** The bug with which this process was loaded. */
  readonly planted: string | undefined;
  readonly profile: ProfileName;
}

/** Plays seed after seed. What a plan reaches decides on the plans of later seeds. */
export class Hunter {
  readonly #options: HuntOptions;
  readonly #feedback: Feedback;

  constructor(options: HuntOptions) {
    this.#options = options;
    this.#feedback = new Feedback(options.profile);
  }

  planFor(seed: number): HuntPlan {
    return this.#feedback.next(seed);
  }

  /** Plays the plan of a seed and shrinks its failure as far as possible. */
  async play(plan: HuntPlan): Promise<SeedReport> {
    const coverage = new Coverage();
    const outcome = await runPlan(plan, { coverage });
    this.#feedback.learn(plan, coverage.reached());
    const { steps, simulatedSeconds } = outcome;
    const drawn = plan.steps.length;
    const report = { seed: plan.seed, steps, simulatedSeconds, drawn, reached: this.#feedback.size };
    if (outcome.violation === undefined) return report;
    return { ...report, scenario: await smallest(plan, outcome, this.#options) };
  }
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
