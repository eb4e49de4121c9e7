import { createSeededRandom, type Random } from '@holdfast/platform';
import { KINDS } from './kinds.ts';
import { type HuntPlan, pick, rounded, type Step, targetsOf } from './plan.ts';

const MOST_STEPS = 80;
const MOST_CHANGES = 4;
/** Two steps meet within this time. */
const MEETING_SECONDS = 2;
const LENGTHS = [0.2, 0.5, 2, 4];
const CROSSED_STEPS = 5;

interface Mutation {
  readonly random: Random;
  readonly plan: HuntPlan;
  /** Another plan, of which steps may be taken. */
  readonly other: HuntPlan;
}

type Change = (steps: readonly Step[], mutation: Mutation) => readonly Step[];

/** A plan that differs from another one in a few places, and in everything that its seed draws. */
export function mutated(plan: HuntPlan, seed: number, other: HuntPlan): HuntPlan {
  const random = createSeededRandom(seed, 'mutation');
  const changes = Array.from({ length: 1 + random.int(MOST_CHANGES) }, () => pick(random, CHANGES));
  const steps = changes.reduce((before, change) => change(before, { random, plan, other }), plan.steps);
  return { ...plan, seed, steps: steps.slice(0, MOST_STEPS).toSorted((a, b) => a.at - b.at) };
}

const CHANGES: readonly Change[] = [
  // Two steps meet.
  (steps, { random, plan }) => {
    const to = some(random, steps);
    return change(random, steps, (step) => ({ ...step, at: near(random, to, plan) }));
  },
  // A step comes once more, while another one is at work.
  (steps, { random, plan }) => {
    const [step, to] = [some(random, steps), some(random, steps)];
    return step === undefined ? steps : [...steps, { ...step, at: near(random, to, plan) }];
  },
  // It concerns another one, or all that another step concerns.
  (steps, { random, plan }) => {
    const wanted = some(random, steps)?.target ?? '';
    return change(random, steps, (step) => {
      const targets = targetsOf(KINDS[step.do].targets, plan);
      return { ...step, target: targets.includes(wanted) ? wanted : pick(random, targets) };
    });
  },
  (steps, { random, plan }) =>
    change(random, steps, (step) => {
      if (step.for === undefined) return step;
      return { ...step, for: rounded(Math.min(step.for * pick(random, LENGTHS), plan.seconds)) };
    }),
  (steps, { random }) => {
    const without = random.int(Math.max(1, steps.length));
    return steps.filter((_, i) => i !== without);
  },
  // Steps of another plan that follow each other come in.
  (steps, { random, plan, other }) => {
    const first = random.int(Math.max(1, other.steps.length));
    const taken = other.steps.slice(first, first + 1 + random.int(CROSSED_STEPS));
    const shift = near(random, some(random, steps), plan) - (taken[0]?.at ?? 0);
    const isKnown = ({ do: kind, target }: Step): boolean =>
      KINDS[kind].targets === 'pod' || !/-\d$/.test(target) || targetsOf(KINDS[kind].targets, plan).includes(target);
    return [...steps, ...taken.filter(isKnown).map((step) => ({ ...step, at: within(plan, step.at + shift) }))];
  },
];

function change(random: Random, steps: readonly Step[], to: (step: Step) => Step): readonly Step[] {
  const changed = random.int(Math.max(1, steps.length));
  return steps.map((step, i) => (i === changed ? to(step) : step));
}

function near(random: Random, step: Step | undefined, plan: HuntPlan): number {
  const at = step?.at ?? random.float() * plan.seconds;
  const lasts = random.float() < 0.5 ? (step?.for ?? 0) : 0;
  return within(plan, at + lasts + (random.float() * 2 - 1) * MEETING_SECONDS);
}

const within = ({ seconds }: HuntPlan, at: number): number => rounded(Math.min(Math.max(0, at), seconds));
const some = (random: Random, steps: readonly Step[]): Step | undefined => steps[random.int(Math.max(1, steps.length))];
