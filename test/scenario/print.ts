import { APPS } from '../sim/hunt/plan.ts';
import { printAmount } from './amounts.ts';
import { clientKinds } from './clients.ts';
import { KIND_WORDS } from './kinds.ts';
import { FORM_FIELDS, formKeys, type Scenario, type ScheduledStep } from './model.ts';

/** The text of a scenario file. Parsed, it is the same scenario again. */
export function printScenario(scenario: Scenario): string {
  const { name, about, seed, seconds, schedule, found } = scenario;
  return [
    `name: ${quoted(name)}`,
    ...(about === undefined ? [] : [`about: ${quoted(about)}`]),
    ...(found === undefined ? [] : ['found:', ...indented(fieldsOf(found))]),
    `seed: ${seed}`,
    'form:',
    ...formLines(scenario).map((line) => `  ${line}`),
    'workload:',
    ...workloadLines(scenario).map((line) => `  ${line}`),
    `length: ${printAmount(seconds)}`,
    ...(schedule.length === 0 ? ['schedule: []'] : ['schedule:', ...schedule.flatMap(stepLines)]),
    'expect:',
    ...expectLines(scenario).map((line) => `  ${line}`),
    '',
  ].join('\n');
}

const indented = (fields: readonly (readonly [string, string])[]): readonly string[] =>
  fields.map(([key, value]) => `  ${key}: ${quoted(value)}`);

const fieldsOf = (found: object): readonly (readonly [string, string])[] =>
  Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === 'string');

const formLines = ({ form }: Scenario): readonly string[] =>
  formKeys().map((key) => {
    const { name, isInverse = false } = FORM_FIELDS[key];
    const value = form[key];
    return `${name}: ${typeof value === 'boolean' ? value !== isInverse : value}`;
  });

const workloadLines = ({ workload: { replicas, hasDisks, database, clients } }: Scenario): readonly string[] => [
  ...APPS.map((app) => `${app}: { replicas: ${replicas[app]}${app === 'db' ? `, disks: ${hasDisks}` : ''} }`),
  ...(database === 0 ? [] : [`database: ${database}`]),
  ...clientKinds().flatMap((kind) => (clients[kind] === 0 ? [] : [`${kind}: ${clients[kind]}`])),
];

const expectLines = ({
  expect: { wholeWithin, recoverWithin, answeredWithin, breaks },
}: Scenario): readonly string[] => [
  `wholeWithin: ${printAmount(wholeWithin)}`,
  ...(recoverWithin === undefined ? [] : [`recoverWithin: ${printAmount(recoverWithin)}`]),
  ...(answeredWithin === undefined ? [] : [`answeredWithin: ${printAmount(answeredWithin)}`]),
  ...(breaks === undefined ? [] : ['breaks: true']),
];

/** A comment says the step in words. */
function stepLines(step: ScheduledStep): readonly string[] {
  const { value } = KIND_WORDS[step.do];
  const fields = [
    `at: ${printAmount(step.at)}`,
    `do: ${step.do}`,
    ...targetField(step.targets),
    ...(step.for === undefined ? [] : [`for: ${printAmount(step.for)}`]),
    ...(step.when === undefined ? [] : [`when: ${step.when}`]),
    ...(step.lag === undefined ? [] : [`lag: ${printAmount(step.lag)}`]),
    ...(value === undefined || step.value === undefined ? [] : [`${value.name}: ${printAmount(step.value, value)}`]),
  ];
  return [`  # ${inWords(step)}`, `  - { ${fields.join(', ')} }`];
}

function targetField(targets: readonly string[]): readonly string[] {
  if (targets.length === 0) return [];
  const [first = ''] = targets;
  return [`target: ${targets.length === 1 ? quoted(first) : `[${targets.map(quoted).join(', ')}]`}`];
}

/** `after 5s, for 40s: node-1 loses its network`. */
export function inWords(step: ScheduledStep): string {
  const { says, value } = KIND_WORDS[step.do];
  const amount = value === undefined || step.value === undefined ? '' : printAmount(step.value, value);
  const what = says.replace('{target}', () => step.targets.join(' or ')).replace('{value}', () => amount);
  return `after ${printAmount(step.at)}${momentOf(step)}${step.for === undefined ? '' : `, for ${printAmount(step.for)}`}: ${what}`;
}

const momentOf = ({ when, lag = 0 }: ScheduledStep): string =>
  when === undefined ? '' : `, ${printAmount(lag)} behind the next ${when}`;

/** Words that YAML takes for themselves wherever they stand. */
const PLAIN = /^[a-z][-a-z0-9]*$/i;
const NOT_PLAIN = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
/** What YAML lets stand between quotes in one line; the rest is escaped. */
const SPECIAL = /[^\x20-\x7e]/g;

function quoted(text: string): string {
  if (PLAIN.test(text) && !NOT_PLAIN.test(text)) return text;
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(SPECIAL, escape);
}
