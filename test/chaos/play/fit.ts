import { createSeededRandom } from '@holdfast/platform';
import { FAULTS, type FaultKind, KINDS, type Kind, type StepKind } from '../../sim/hunt/kinds.ts';
import { type HuntPlan, OBSERVER, type Step, targetsOf } from '../../sim/hunt/plan.ts';
import { COMPOSE_FORMS, type FormName } from '../support/compose-form.ts';
import { FORM_REFUSALS } from './refusals.ts';

/** A plan of the hunt with what a form of containers can do of it. */
export function fitForContainers(
  plan: HuntPlan,
  isPossible: (kind: StepKind) => boolean,
  form: FormName = 'S',
): HuntPlan {
  const absent = form === 'S' ? /^(?:scheduler|controller-manager)-\d$|^node-[4-9]$/ : /^node-[4-9]$/;
  const isThere = ({ target }: { readonly target: string }): boolean => target !== OBSERVER && !absent.test(target);
  const rest = { isLeaderless: false, startsEmpty: false };
  const isDone = (step: Step): boolean => isPossible(step.do);
  const own = plan.steps.filter((step) => isDone(step) && isThere(step)).map(atItsTime);
  const drawn = [...drawSurroundings(plan, form).filter(isDone), ...(form === 'S' ? [] : drawZoneFaults(plan))];
  const steps = [...own, ...drawn].toSorted((a, b) => a.at - b.at);
  return { ...plan, ...COMPOSE_FORMS[form], ...rest, steps };
}

/** Faults of the surroundings and of the store, which the hunt draws none of: one every few seconds. */
function drawSurroundings({ seed, seconds }: HuntPlan, form: FormName): readonly Step[] {
  const random = createSeededRandom(seed, 'surroundings');
  const kinds = OF_SURROUNDINGS.filter((kind) => FORM_REFUSALS[form][kind] === undefined);
  const shape = { ...COMPOSE_FORMS[form], seed, seconds };
  return Array.from({ length: Math.floor(seconds / EVERY_SECONDS) }, (_, i) => {
    const kind = kinds[random.int(kinds.length)] ?? 'no-names';
    const { targets, ...of }: Kind = KINDS[kind];
    const whom = targetsOf(targets, shape).filter((target) => target !== OBSERVER);
    const [least, most] = of.value ?? [0, 0];
    const value = least + random.float() * (most - least);
    return {
      at: Math.round((i + random.float()) * EVERY_SECONDS),
      do: kind,
      target: whom[random.int(whom.length)] ?? '',
      ...(of.for === undefined ? {} : { for: SHORTEST_SECONDS + random.int(SHORTEST_SECONDS) }),
      ...(of.value === undefined ? {} : { value: of.isWhole === true ? Math.round(value) : Number(value.toFixed(3)) }),
    };
  });
}

/** The hunt draws none of them, and no zone has them as a whole. */
const OF_SURROUNDINGS = (Object.keys(FAULTS) as FaultKind[]).filter((kind) => {
  const { perMinute, targets }: Kind = FAULTS[kind];
  return perMinute === 0 && targets !== 'zone';
});
const EVERY_SECONDS = 6;

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
