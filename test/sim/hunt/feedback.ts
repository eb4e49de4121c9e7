import { createSeededRandom } from '@holdfast/platform';
import { mutated } from './mutate.ts';
import { type HuntPlan, type ProfileName, planOf } from './plan.ts';

/** Plans that are kept. */
const MOST_PARENTS = 64;
/** The share of seeds that mutate a plan, once there is one. */
const CHANCE_OF_A_MUTANT = 0.5;

interface Parent {
  readonly plan: HuntPlan;
  /** How much it has reached that nothing before it had. */
  readonly news: number;
  children: number;
}

/**
 * Plans the seeds of a hunt: those that reached something new are mutated first, those with the most news and the fewest mutants before the
 * others. The rest is drawn.
 */
export class Feedback {
  readonly #reached = new Set<string>();
  readonly #parents: Parent[] = [];
  readonly #profile: ProfileName;

  constructor(profile: ProfileName) {
    this.#profile = profile;
  }

  /** How much the hunt has reached. */
  get size(): number {
    return this.#reached.size;
  }

  next(seed: number): HuntPlan {
    const drawn = planOf(seed, this.#profile);
    const best = this.#parents.toSorted((a, b) => worthOf(b) - worthOf(a))[0];
    if (best === undefined || createSeededRandom(seed, 'feedback').float() >= CHANCE_OF_A_MUTANT) return drawn;
    best.children += 1;
    return mutated(best.plan, seed, drawn);
  }

  /** What a plan has reached. */
  learn(plan: HuntPlan, reached: Iterable<string>): void {
    const before = this.#reached.size;
    for (const each of reached) this.#reached.add(each);
    const news = this.#reached.size - before;
    if (news === 0) return;
    this.#parents.push({ plan, news, children: 0 });
    if (this.#parents.length <= MOST_PARENTS) return;
    const worst = this.#parents.toSorted((a, b) => worthOf(a) - worthOf(b))[0];
    if (worst !== undefined) this.#parents.splice(this.#parents.indexOf(worst), 1);
  }
}

const worthOf = ({ news, children }: Parent): number => news / (1 + children) ** 2;
