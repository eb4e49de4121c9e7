import type { StepKind } from '../../sim/hunt/kinds.ts';
import { type HuntPlan, OBSERVER, type Step } from '../../sim/hunt/plan.ts';

/** What the compose file has. */
export const COMPOSE_FORM = {
  nodes: 3,
  apiServers: 2,
  schedulers: 1,
  managers: 1,
  hasFencer: false,
} as const;

/** A plan of the hunt with what containers can do of it, on the form that they have. */
export function fitForContainers(plan: HuntPlan, isPossible: (kind: StepKind) => boolean): HuntPlan {
  const isThere = ({ target }: { readonly target: string }): boolean =>
    !ABSENT.has(target) && !/^(?:scheduler|controller-manager)-\d$|^node-[4-9]$/.test(target);
  const rest = { isLeaderless: false, startsEmpty: false };
  const steps = plan.steps.filter((step) => isPossible(step.do) && isThere(step)).map(atItsTime);
  return { ...plan, ...COMPOSE_FORM, ...rest, steps };
}

/** Nobody sees the moments of containers in time. */
function atItsTime(step: Step): Step {
  const { at, do: what, target, for: lasts, value } = step;
  return {
    at,
    do: what,
    target: target.replace(/^@node-[4-9]$/, '@node-1'),
    ...(lasts === undefined ? {} : { for: lasts }),
    ...(value === undefined ? {} : { value }),
  };
}

const ABSENT: ReadonlySet<string> = new Set([OBSERVER]);
