import { createSeededRandom } from '@holdfast/platform';
import type { StepKind } from '../../sim/hunt/kinds.ts';
import { type HuntPlan, OBSERVER, type Step } from '../../sim/hunt/plan.ts';
import { COMPOSE_FORMS, type FormName } from '../support/compose-form.ts';

/** A plan of the hunt with what a form of containers can do of it. */
export function fitForContainers(
  plan: HuntPlan,
  isPossible: (kind: StepKind) => boolean,
  form: FormName = 'S',
): HuntPlan {
  const absent = form === 'S' ? /^(?:scheduler|controller-manager)-\d$|^node-[4-9]$/ : /^node-[4-9]$/;
  const isThere = ({ target }: { readonly target: string }): boolean => target !== OBSERVER && !absent.test(target);
  const rest = { isLeaderless: false, startsEmpty: false };
  const own = plan.steps.filter((step) => isPossible(step.do) && isThere(step)).map(atItsTime);
  const steps = form === 'S' ? own : [...own, ...drawZoneFaults(plan)].toSorted((a, b) => a.at - b.at);
  return { ...plan, ...COMPOSE_FORMS[form], ...rest, steps };
}

/** The hunt draws none: one or two, of which the second is another zone's or comes when the first is over. */
function drawZoneFaults({ seed, seconds }: HuntPlan): readonly Step[] {
  const random = createSeededRandom(seed, 'zones');
  const half = seconds / 2;
  return [0, half].flatMap((from) => {
    const kind = ZONE_FAULTS[random.int(ZONE_FAULTS.length)];
    const at = Math.round(from + (random.float() * half) / 4);
    const lasts = Math.round(Math.min(SHORTEST_SECONDS + random.float() * half, half - (at - from)));
    const target = kind === 'store-failover' ? '' : `zone-${1 + random.int(3)}`;
    return kind === undefined || lasts <= 0 ? [] : [{ at, do: kind, target, for: lasts }];
  });
}

const ZONE_FAULTS = ['zone-cut', 'zone-loss', 'zone-upgrade', 'store-failover'] as const;
const SHORTEST_SECONDS = 5;

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
