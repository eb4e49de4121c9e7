import { createSeededRandom, invariant, type Random } from '@holdfast/platform';
import { KINDS } from '../sim/hunt/kinds.ts';
import { type HuntPlan, replicasOf, type Step, WHOLE_WITHIN_SECONDS } from '../sim/hunt/plan.ts';
import { NO_CLIENTS } from './clients.ts';
import { type Amount, FORM_FIELDS, type Form, formKeys, type Scenario, type ScheduledStep } from './model.ts';

type Titles = Pick<Scenario, 'name' | 'about' | 'found'>;

/** The scenario of a plan: everything in it is fixed. */
export function scenarioOf(plan: HuntPlan, titles: Titles): Scenario {
  const { seed, seconds, hasDisks = false, steps } = plan;
  const form = Object.fromEntries(formKeys().map((key) => [key, plan[key] ?? absent(key)])) as Form;
  const schedule = steps.map(({ target, ...step }) => ({ ...step, targets: target === '' ? [] : [target] }));
  const workload = {
    replicas: replicasOf(plan),
    hasDisks,
    database: 0 as const,
    clients: { ...NO_CLIENTS, rareRegisters: plan.rareRegisters ?? 0 },
  };
  const expect = { wholeWithin: WHOLE_WITHIN_SECONDS };
  return { ...titles, seed, form, workload, seconds, schedule, expect };
}

/** What a plan means that does not name a field. */
function absent(key: keyof Form): number | boolean {
  const { kind, fallback } = FORM_FIELDS[key];
  return kind === 'count' ? fallback : false;
}

/** The plan of a scenario. What the file leaves to the seed has a stream for each line, so that a changed line changes no other. */
export function planOf({ seed, form, workload, seconds, schedule }: Scenario): HuntPlan {
  const steps = schedule.map((step, line) => drawStep(step, createSeededRandom(seed, `schedule/${line}`)));
  const { replicas, hasDisks, clients } = workload;
  const { rareRegisters } = clients;
  return { ...form, seed, replicas, hasDisks, rareRegisters, seconds, steps: steps.toSorted((a, b) => a.at - b.at) };
}

function drawStep(step: ScheduledStep, random: Random): Step {
  const at = draw(step.at, random);
  const target = step.targets.length === 0 ? '' : step.targets[random.int(step.targets.length)];
  invariant(target !== undefined, 'a step has the target that was drawn');
  const value = step.value === undefined ? undefined : draw(step.value, random);
  return {
    at,
    do: step.do,
    target,
    ...(step.for === undefined ? {} : { for: draw(step.for, random) }),
    ...(value === undefined ? {} : { value: KINDS[step.do].isWhole === true ? Math.round(value) : value }),
    ...(step.when === undefined ? {} : { when: step.when }),
    ...(step.lag === undefined ? {} : { lag: draw(step.lag, random) }),
  };
}

function draw(amount: Amount, random: Random): number {
  if (typeof amount === 'number') return amount;
  const [least, most] = amount;
  return Math.round((least + random.float() * (most - least)) * 1000) / 1000;
}

/** The latest moment at which a line can happen or end. */
export function latestEnd({ at, for: lasts = 0 }: ScheduledStep): number {
  return most(at) + most(lasts);
}

export const most = (amount: Amount): number => (typeof amount === 'number' ? amount : amount[1]);
export const least = (amount: Amount): number => (typeof amount === 'number' ? amount : amount[0]);
