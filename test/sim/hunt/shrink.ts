import type { HuntPlan, Step } from './plan.ts';

/** Resolves with whether a smaller plan still violates the same rule. */
export type StillFails = (plan: HuntPlan) => Promise<boolean>;

export interface Shrunk {
  readonly plan: HuntPlan;
  readonly runs: number;
}

const SHORTEST_SECONDS = 1;

/** The smallest plan that was found: fewer steps, then fewer processes, then shorter times. At most `runs` tries. */
export async function shrink(plan: HuntPlan, stillFails: StillFails, runs: number): Promise<Shrunk> {
  const shrinker = new Shrinker(plan, stillFails, runs);
  await shrinker.dropSteps();
  await shrinker.simplify(fewerProcesses);
  await shrinker.simplify(shorterSteps);
  await shrinker.dropSteps();
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
      if (variant !== undefined) await this.#try(variant);
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
