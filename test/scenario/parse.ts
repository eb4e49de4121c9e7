import { KINDS, type StepKind } from '../sim/hunt/kinds.ts';
import { MOMENTS, type Moment } from '../sim/hunt/moments.ts';
import { APPS, nodeOf, OBSERVER, PLACED, REPLICAS, targetsOf } from '../sim/hunt/plan.ts';
import { parseAmount, parseSeconds } from './amounts.ts';
import { clientKinds, NO_CLIENTS } from './clients.ts';
import { Field, ScenarioError } from './fields.ts';
import { isKind, KIND_WORDS, type ValueField } from './kinds.ts';
import {
  type Amount,
  type DatabaseSize,
  DEFAULT_EXPECTATIONS,
  type Expectations,
  type Finding,
  FORM_FIELDS,
  type Form,
  formKeys,
  type Scenario,
  type ScheduledStep,
  type Workload,
} from './model.ts';
import { least, most } from './plans.ts';

export { ScenarioError };

const COUNT_MAX = 9;
const SECONDS_MAX = 86_400;
const STEPS_MAX = 2_000;
const TARGETS_MAX = 100;
/** A pod, an application, or the pods of a node (`@node-1`). */
const POD_TARGET = /^@?[a-z0-9](?:[-a-z0-9.]{0,250}[a-z0-9])?$/;
const TOP = ['name', 'about', 'seed', 'form', 'workload', 'length', 'schedule', 'expect', 'found'] as const;

/** Reads a scenario file. Throws a `ScenarioError` about the first thing that is wrong with it. */
export function parseScenario(text: string): Scenario {
  const root = Field.read(text);
  const of = root.map(TOP);
  const name = of('name').text();
  const form = readForm(of('form'));
  const seconds = readSeconds(of('length'), 0, SECONDS_MAX);
  const about = of('about').isAbsent ? {} : { about: of('about').text() };
  const found = of('found').isAbsent ? {} : { found: readFinding(of('found')) };
  return {
    name,
    ...about,
    seed: of('seed').isAbsent ? 1 : of('seed').whole(0, Number.MAX_SAFE_INTEGER),
    form,
    workload: readWorkload(of('workload')),
    seconds,
    schedule: of('schedule')
      .list(STEPS_MAX)
      .map((field) => readStep(field, form, seconds)),
    expect: readExpectations(of('expect')),
    ...found,
  };
}

function readForm(field: Field): Form {
  const of = field.map(formKeys().map((key) => FORM_FIELDS[key].name));
  const entries = formKeys().map((key) => {
    const { name, kind, isInverse = false, fallback } = FORM_FIELDS[key];
    if (of(name).isAbsent) return [key, fallback];
    return [key, kind === 'count' ? of(name).whole(1, COUNT_MAX) : of(name).flag() !== isInverse];
  });
  return Object.fromEntries(entries) as Form;
}

function readWorkload(field: Field): Workload {
  const of = field.map([...APPS, 'database', ...clientKinds()]);
  const replicas = { ...REPLICAS };
  for (const app of APPS) {
    const own = of(app).map(app === 'db' ? ['replicas', 'disks'] : ['replicas']);
    if (!own('replicas').isAbsent) replicas[app] = own('replicas').whole(0, app === 'disk' ? 1 : COUNT_MAX);
  }
  const disks = of('db').map(['replicas', 'disks'])('disks');
  const clients = { ...NO_CLIENTS };
  for (const kind of clientKinds()) if (!of(kind).isAbsent) clients[kind] = of(kind).whole(0, COUNT_MAX);
  return { replicas, hasDisks: disks.isAbsent ? false : disks.flag(), database: readDatabase(of('database')), clients };
}

function readDatabase(field: Field): DatabaseSize {
  const members = field.isAbsent ? 0 : field.whole(0, COUNT_MAX);
  return members === 0 || members === 3 ? members : field.fail('a database has 3 members, or 0: none');
}

function readExpectations(field: Field): Expectations {
  const of = field.map(['wholeWithin', 'recoverWithin', 'answeredWithin', 'breaks']);
  const [whole, recover, answered] = [of('wholeWithin'), of('recoverWithin'), of('answeredWithin')];
  return {
    wholeWithin: whole.isAbsent ? DEFAULT_EXPECTATIONS.wholeWithin : readSeconds(whole, 1, SECONDS_MAX),
    ...(recover.isAbsent ? {} : { recoverWithin: readSeconds(recover, 1, SECONDS_MAX) }),
    ...(answered.isAbsent ? {} : { answeredWithin: readSeconds(answered, 1, SECONDS_MAX) }),
    ...(of('breaks').isAbsent || !of('breaks').flag() ? {} : { breaks: true }),
  };
}

function readFinding(field: Field): Finding {
  const of = field.map(['rule', 'story', 'planted', 'trace']);
  const [planted, trace] = [of('planted'), of('trace')];
  return {
    rule: of('rule').text(),
    story: of('story').text(),
    ...(planted.isAbsent ? {} : { planted: planted.text() }),
    ...(trace.isAbsent ? {} : { trace: trace.text() }),
  };
}

function readStep(field: Field, form: Form, seconds: number): ScheduledStep {
  const kind = field.map(stepFields(undefined))('do').word();
  if (!isKind(kind)) field.fail(`do: there is no "${kind}"; docs/scenarios.md lists what there is`);
  const of = field.map(stepFields(kind));
  const { value } = KIND_WORDS[kind];
  const step = {
    at: readAmount(of('at'), { least: 0, most: seconds }),
    do: kind,
    targets: readTargets(of('target'), kind, form),
    ...(of('for').isAbsent ? {} : { for: readAmount(of('for'), { least: 0, most: SECONDS_MAX }) }),
    ...(of('when').isAbsent ? {} : { when: readMoment(of('when')) }),
    ...(of('lag').isAbsent ? {} : { lag: readAmount(of('lag'), { least: 0, most: SECONDS_MAX }) }),
  };
  if (value === undefined) return step;
  return { ...step, value: readAmount(of(value.name), limitsOf(kind, value), value) };
}

function readMoment(field: Field): Moment {
  const name = field.word();
  const moment = MOMENTS.find((each) => each === name);
  return moment ?? field.fail(`there is no moment "${name}"; there are ${MOMENTS.join(', ')}`);
}

/** Without a kind: every field that a step of any kind may have. */
function stepFields(kind: StepKind | undefined): readonly string[] {
  const kinds = kind === undefined ? Object.values(KIND_WORDS) : [KIND_WORDS[kind]];
  const values = new Set(kinds.flatMap(({ value }) => (value === undefined ? [] : [value.name])));
  const target = kind !== undefined && KINDS[kind].targets === 'none' ? [] : ['target'];
  return [
    'at',
    'do',
    'when',
    'lag',
    ...target,
    ...(kind !== undefined && KINDS[kind].for === undefined ? [] : ['for']),
    ...values,
  ];
}

function limitsOf(kind: StepKind, { unit }: ValueField): Limits {
  if (unit === 'share') return { least: 0, most: 1 };
  if (unit === 'whole') return { least: 0, most: 1_000, isWhole: true };
  return { least: kind === 'clock-jump' ? -VALUE_MAX : 0, most: VALUE_MAX };
}

const VALUE_MAX = 86_400_000;

interface Limits {
  readonly least: number;
  readonly most: number;
  readonly isWhole?: boolean;
}

function readAmount(field: Field, limits: Limits, value?: ValueField): Amount {
  const text = field.word();
  const amount = parseAmount(text, value);
  if (amount === undefined) {
    const example = value === undefined || value.unit === 'span' ? '5s, 1.5s or 5s..10s' : '2, 0.5 or 1..4';
    return field.fail(
      `"${text}" is not ${value === undefined || value.unit === 'span' ? 'a time' : 'a number'}; write ${example}`,
    );
  }
  if (least(amount) < limits.least || most(amount) > limits.most)
    field.fail(`"${text}" is not between ${limits.least} and ${limits.most}`);
  const isWhole = Number.isInteger(least(amount)) && Number.isInteger(most(amount));
  return limits.isWhole === true && !isWhole ? field.fail(`"${text}" is not a whole number`) : amount;
}

function readSeconds(field: Field, atLeast: number, atMost: number): number {
  const text = field.word();
  const seconds = parseSeconds(text);
  if (seconds === undefined) return field.fail(`"${text}" is not a time; write 90s, 1.5s or 15m`);
  return seconds >= atLeast && seconds <= atMost
    ? seconds
    : field.fail(`"${text}" is not between ${atLeast}s and ${atMost}s`);
}

function readTargets(field: Field, kind: StepKind, form: Form): readonly string[] {
  const wanted = KINDS[kind].targets;
  if (wanted === 'none') return [];
  const fields = field.isList ? field.list(TARGETS_MAX) : [field];
  if (fields.length === 0) field.fail('it names nobody');
  return fields.map((each) => {
    const target = each.text();
    if (!isTarget(target, kind, form))
      each.fail(`there is no "${target}" in this form; "${kind}" means ${meant(kind, form)}`);
    return target;
  });
}

const NODES_AMONG: ReadonlySet<string> = new Set(['node', 'listener', 'process']);

function isTarget(target: string, kind: StepKind, form: Form): boolean {
  const { targets } = KINDS[kind];
  if (targets === 'pod') return POD_TARGET.test(target);
  const isNodeOf = PLACED.some((app) => target === nodeOf(app)) && NODES_AMONG.has(targets);
  return isNodeOf || namesOf(kind, form).includes(target);
}

const namesOf = (kind: StepKind, form: Form): readonly string[] =>
  targetsOf(KINDS[kind].targets, { ...form, seed: 0, seconds: 0 });

const meant = (kind: StepKind, form: Form): string =>
  KINDS[kind].targets === 'pod'
    ? 'a pod, an application, or @NODE'
    : namesOf(kind, form)
        .filter((name) => name !== OBSERVER)
        .join(', ');
