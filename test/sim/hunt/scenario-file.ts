import { readFileSync, writeFileSync } from 'node:fs';
import type { HuntPlan, Step } from './plan.ts';
import type { Violation } from './run.ts';

/** A schedule that broke a rule, as a person reads it and as a machine plays it again. */
export interface ScenarioFile {
  readonly rule: string;
  readonly story: string;
  /** The planted bug with which it fails; absent where it was a bug of ours. */
  readonly planted?: string;
  /** In words, one line per step. */
  readonly reads: readonly string[];
  readonly plan: HuntPlan;
}

export function scenarioOf(plan: HuntPlan, { rule, story }: Violation, planted: string | undefined): ScenarioFile {
  const shape = `seed ${plan.seed}: ${plan.nodes} nodes, ${plan.apiServers} API server(s), ${plan.schedulers} scheduler(s), ${plan.managers} controller manager(s)${plan.hasFencer ? ', a fencer' : ''}, ${plan.seconds} s`;
  return {
    rule,
    story,
    ...(planted === undefined ? {} : { planted }),
    reads: [shape, ...plan.steps.map(inWords)],
    plan,
  };
}

export const inWords = ({ at, do: what, target, for: seconds, value }: Step): string =>
  [
    `after ${at} s: ${what}`,
    ...(target === '' ? [] : [target]),
    ...(seconds === undefined ? [] : [`for ${seconds} s`]),
    ...(value === undefined ? [] : [`(${value})`]),
  ].join(' ');

export function writeScenario(file: string, scenario: ScenarioFile): void {
  writeFileSync(file, `${JSON.stringify(scenario, null, 2)}\n`);
}

export function readScenario(file: string): ScenarioFile {
  return JSON.parse(readFileSync(file, 'utf8')) as ScenarioFile;
}
