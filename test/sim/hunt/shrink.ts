import { APPS, type App, type HuntPlan, nodeOf, replicasOf, type Step } from './plan.ts';

/** Resolves with whether a smaller plan still violates the same rule. */
export type StillFails = (plan: HuntPlan) => Promise<boolean>;

export interface Shrunk {
  readonly plan: HuntPlan;
  readonly runs: number;
}

const SHORTEST_SECONDS = 1;

/** The smallest plan that was found: fewer steps, processes and pods, shorter and round times. At most `runs` tries. */
export async function shrink(plan: HuntPlan, stillFails: StillFails, runs: number): Promise<Shrunk> {
  const shrinker = new Shrinker(plan, stillFails, runs);
  await shrinker.dropSteps();
  await shrinker.simplify(fewerProcesses);
  await shrinker.simplify(shorterSteps);
  await shrinker.simplify(sooner);
  await shrinker.simplify(fewerPods);
  await shrinker.dropSteps();
  await shrinker.simplify(rounder);
  return { plan: shrinker.best, runs: shrinker.used };
}

class Shrinker {
  best: HuntPlan;
  used = 0;
  readonly #stillFails: StillFails;
  readonly #runs: number;

  constructor(plan: HuntPlan, stillFails: StillFails, runs: number) {
    this.best = plan;
    this.#stillFails = stillFails;
    this.#runs = runs;
  }

  /** Halves first, then smaller and smaller parts, down to single steps. */
  async dropSteps(): Promise<void> {
    for (let size = Math.ceil(this.best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < this.best.steps.length; ) {
        const steps = this.best.steps.toSpliced(from, size);
        if (!(await this.#try({ ...this.best, steps }))) from += size;
      }
    }
  }

  /** Tries each variant of the best plan until none of them fails any more. */
  async simplify(variants: (plan: HuntPlan) => readonly HuntPlan[]): Promise<void> {
    for (const [index] of variants(this.best).entries()) {
      const variant = variants(this.best)[index];
      if (variant !== undefined && variant !== this.best) await this.#try(variant);
    }
  }

  async #try(plan: HuntPlan): Promise<boolean> {
    if (this.used >= this.#runs) return false;
    this.used++;
    const fails = await this.#stillFails(plan);
    if (fails) this.best = plan;
    return fails;
  }
}

/** Each process alone; a step that names one that is no longer there would mean nothing. */
function fewerProcesses(plan: HuntPlan): readonly HuntPlan[] {
  const names = new Set(plan.steps.map(({ target }) => target));
  const one = (key: 'apiServers' | 'schedulers' | 'managers', second: string): HuntPlan =>
    names.has(second) ? plan : { ...plan, [key]: 1 };
  const lastNode = `node-${plan.nodes}`;
  return [
    { ...plan, hasFencer: false },
    one('apiServers', 'apiserver-2'),
    one('schedulers', 'scheduler-2'),
    one('managers', 'controller-manager-2'),
    plan.nodes > 2 && !names.has(lastNode) ? { ...plan, nodes: plan.nodes - 1 } : plan,
    { ...plan, seconds: Math.min(plan.seconds, Math.ceil(Math.max(0, ...plan.steps.map(endOf))) + SHORTEST_SECONDS) },
  ];
}

const endOf = (step: Step): number => step.at + (step.for ?? 0);

/** Every step half as long. */
function shorterSteps(plan: HuntPlan): readonly HuntPlan[] {
  return plan.steps.map((step, index) => {
    const seconds = Math.round((step.for ?? 0) / 2);
    if (seconds < SHORTEST_SECONDS) return plan;
    return { ...plan, steps: plan.steps.with(index, { ...step, for: seconds }) };
  });
}

/** The whole schedule begins earlier: at once, or after half of the time. */
function sooner(plan: HuntPlan): readonly HuntPlan[] {
  const [first] = plan.steps;
  if (first === undefined) return [];
  return [first.at - SHORTEST_SECONDS, first.at / 2].map((by) => {
    if (by < SHORTEST_SECONDS) return plan;
    const steps = plan.steps.map((step) => ({ ...step, at: inMillis(step.at - by) }));
    return { ...plan, steps, seconds: Math.max(SHORTEST_SECONDS, Math.ceil(plan.seconds - by)) };
  });
}

/** Applications without pods, and pods without disks. */
function fewerPods(plan: HuntPlan): readonly HuntPlan[] {
  const isNamed = (app: App): boolean =>
    plan.steps.some(({ target }) => target === app || target.startsWith(`${app}-`) || target.endsWith(nodeOf(app)));
  const without = APPS.map((app) =>
    isNamed(app) || replicasOf(plan)[app] === 0 ? plan : { ...plan, replicas: { ...plan.replicas, [app]: 0 } },
  );
  return [...without, plan.hasDisks === true ? { ...plan, hasDisks: false } : plan];
}

/** Times that a person would write: all of them at once, or one step at a time. */
function rounder(plan: HuntPlan): readonly HuntPlan[] {
  const isRound = (step: Step): boolean => Number.isInteger(step.at) && Number.isInteger(step.for ?? 0);
  const all = plan.steps.every(isRound) ? plan : { ...plan, steps: plan.steps.map(roundStep) };
  const each = plan.steps.map((step, index) =>
    isRound(step) ? plan : { ...plan, steps: plan.steps.with(index, roundStep(step)) },
  );
  return [all, ...each];
}

const roundStep = (step: Step): Step => ({
  ...step,
  at: Math.round(step.at),
  ...(step.for === undefined ? {} : { for: Math.round(step.for) }),
});

const inMillis = (seconds: number): number => Math.round(seconds * 1000) / 1000;
