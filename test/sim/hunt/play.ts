import type { Scenario } from '../../scenario/model.ts';
import { planOf } from '../../scenario/plans.ts';
import type { Recording } from '../../scenario/timeline/recording.ts';
import { type HuntOutcome, runPlan } from './run.ts';

/** Plays a scenario on virtual time. */
export function playScenario(scenario: Scenario, recording?: Recording): Promise<HuntOutcome> {
  const { wholeWithin, recoverWithin } = scenario.expect;
  const { clients } = scenario.workload;
  const extra = { wholeWithin, recoverWithin, clients, ...(recording === undefined ? {} : { recording }) };
  return runPlan(planOf(scenario), extra);
}
