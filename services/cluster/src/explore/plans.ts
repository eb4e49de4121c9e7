import type { Trace, TracedEvent, TracedWrite } from './trace.ts';
import { badWorkload } from './workload.ts';

/** Names a write of the operator, in every run. */
export type WriteMark = Pick<TracedWrite, 'verb' | 'resource' | 'namespace' | 'name' | 'nth'>;
/** Names a state that the operator sees. */
export type EventMark = Pick<TracedEvent, 'resource' | 'namespace' | 'name' | 'nth'>;

/** One disturbance of one run. */
export type Plan =
  | { readonly kind: 'crash'; readonly moment: 'before' | 'after'; readonly write: WriteMark }
  | { readonly kind: 'lostAnswer' | 'conflict' | 'throttled'; readonly write: WriteMark }
  | { readonly kind: 'stale' | 'unobserved'; readonly event: EventMark }
  | { readonly kind: 'timeTravel'; readonly step: number; readonly event: EventMark }
  | { readonly kind: 'expired'; readonly step: number };

type Recorded = Pick<Trace, 'writes' | 'events'>;

/** Equal writes beyond these tell little more. */
const EQUAL_WRITES = 2;

/** The promising plans of a run, the most promising first: one of each class in turn, each class by the order of the run. */
export function plansOf(trace: Recorded, steps: number): readonly Plan[] {
  const writes = trace.writes
    .filter(({ nth, status }) => nth <= EQUAL_WRITES && status !== undefined && status < 400)
    .toSorted((a, b) => weightOf(a) - weightOf(b));
  const events = decisive(trace.events);
  const versioned = writes.filter(({ verb }) => verb === 'update' || verb === 'patch');
  const classes: readonly (readonly Plan[])[] = [
    writes.map((write) => ({ kind: 'crash', moment: 'after', write: markOf(write) })),
    timeTravels(events, steps),
    events.map((event) => ({ kind: 'stale', event: eventMarkOf(event) })),
    events.map((event) => ({ kind: 'unobserved', event: eventMarkOf(event) })),
    writes.map((write) => ({ kind: 'lostAnswer', write: markOf(write) })),
    writes.map((write) => ({ kind: 'crash', moment: 'before', write: markOf(write) })),
    Array.from({ length: Math.max(0, steps - 1) }, (_, step) => ({ kind: 'expired', step })),
    versioned.map((write) => ({ kind: 'conflict', write: markOf(write) })),
    writes.map((write) => ({ kind: 'throttled', write: markOf(write) })),
  ];
  return inTurn(classes);
}

/** A deletion cannot be repaired, a creation can be repeated. */
const weightOf = ({ verb }: TracedWrite): number => (verb.startsWith('delete') ? 0 : Number(verb === 'create') + 1);

/** After each step the program is restarted, and one of its caches begins before an event that it had seen. */
function timeTravels(events: readonly TracedEvent[], steps: number): readonly Plan[] {
  const plans: Plan[] = [];
  for (let step = 0; step < steps; step += 1) {
    const seen = events.filter((event) => event.step <= step);
    for (const resource of new Set(seen.map((event) => event.resource))) {
      const ofResource = seen.filter((event) => event.resource === resource);
      const [first, last] = [ofResource[0], ofResource.at(-1)];
      for (const event of new Set([first, last])) {
        if (event !== undefined) plans.push({ kind: 'timeTravel', step, event: eventMarkOf(event) });
      }
    }
  }
  return plans;
}

/** States of the same object beyond these are reports of progress. */
const STATES_PER_OBJECT = 6;
const decisive = (events: readonly TracedEvent[]): readonly TracedEvent[] =>
  events.filter(({ nth }) => nth <= STATES_PER_OBJECT);

function inTurn(classes: readonly (readonly Plan[])[]): readonly Plan[] {
  const longest = Math.max(0, ...classes.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => classes.flatMap((plans) => plans[i] ?? [])).flat();
}

const markOf = ({ verb, resource, namespace, name, nth }: TracedWrite): WriteMark => ({
  verb,
  resource,
  namespace,
  name,
  nth,
});

const eventMarkOf = ({ resource, namespace, name, nth }: TracedEvent): EventMark => ({
  resource,
  namespace,
  name,
  nth,
});

export function describePlan(plan: Plan): string {
  switch (plan.kind) {
    case 'crash':
      return `the operator is killed ${plan.moment} ${writeText(plan.write)}`;
    case 'lostAnswer':
      return `the answer to ${writeText(plan.write)} is lost`;
    case 'conflict':
      return `${writeText(plan.write)} gets 409`;
    case 'throttled':
      return `${writeText(plan.write)} gets 429`;
    case 'stale':
      return `the cache of ${plan.event.resource} lags from ${eventText(plan.event)} on`;
    case 'unobserved':
      return `${eventText(plan.event)} is not observed, only the one after it`;
    case 'timeTravel':
      return `after step ${plan.step + 1} the operator restarts, and its cache of ${plan.event.resource} begins before ${eventText(plan.event)}`;
    case 'expired':
      return `after step ${plan.step + 1} all watches end, and their revisions are expired`;
  }
}

const writeText = ({ verb, resource, namespace, name, nth }: WriteMark): string =>
  `write ${nth} "${verb} ${resource} ${placeOf(namespace, name)}"`;

const eventText = ({ resource, namespace, name, nth }: EventMark): string =>
  `state ${nth} of ${resource} ${placeOf(namespace, name)}`;

const placeOf = (namespace: string, name: string): string => (namespace === '' ? name : `${namespace}/${name}`);

/** The fields of each kind of plan besides `kind`. */
const PLAN_FIELDS: Readonly<Record<Plan['kind'], readonly string[]>> = {
  crash: ['moment', 'write'],
  lostAnswer: ['write'],
  conflict: ['write'],
  throttled: ['write'],
  stale: ['event'],
  unobserved: ['event'],
  timeTravel: ['step', 'event'],
  expired: ['step'],
};

/** Reads a plan that a finding printed. Throws an `OperatorError` for anything else. */
export function readPlan(content: unknown): Plan {
  const given: Record<string, unknown> = typeof content === 'object' && content !== null ? { ...content } : {};
  const kind = Object.keys(PLAN_FIELDS).find((each) => each === given['kind']);
  const fields = new Map(Object.entries(PLAN_FIELDS)).get(kind ?? '');
  if (fields === undefined || !fields.every((field) => isField(field, given))) {
    throw badWorkload('the plan is none of explore', 'Copy it from the line "Again" of a finding.');
  }
  return given as unknown as Plan;
}

function isField(field: string, given: Readonly<Record<string, unknown>>): boolean {
  const value = new Map(Object.entries(given)).get(field);
  if (field === 'step') return typeof value === 'number' && Number.isInteger(value);
  if (field === 'moment') return value === 'before' || value === 'after';
  if (typeof value !== 'object' || value === null) return false;
  const mark = new Map<string, unknown>(Object.entries(value));
  const texts = field === 'write' ? ['verb', 'resource', 'namespace', 'name'] : ['resource', 'namespace', 'name'];
  return texts.every((text) => typeof mark.get(text) === 'string') && Number.isInteger(mark.get('nth'));
}
