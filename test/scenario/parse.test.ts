import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KINDS, type StepKind } from '../sim/hunt/kinds.ts';
import { MOMENTS } from '../sim/hunt/moments.ts';
import { APPS, planOf as huntPlanOf, isCalm, targetsOf } from '../sim/hunt/plan.ts';
import { type ClientKind, clientKinds, NO_CLIENTS } from './clients.ts';
import { KIND_WORDS } from './kinds.ts';
import { type Amount, FORM_FIELDS, type Form, formKeys, type Scenario, type ScheduledStep } from './model.ts';
import { parseScenario } from './parse.ts';
import { planOf, scenarioOf } from './plans.ts';
import { printScenario } from './print.ts';

/** What YAML, JSON or a comment could take for something else. */
const hostile = fc.constantFrom(...Array.from(':#\'"{}[]&*!|>%@`\\\n\r\t\0\u0085\u2028\u2029\ufeff\u007f-? '));
const text = fc.string({ unit: fc.oneof(hostile, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })) });
const milli = (most: number) => fc.integer({ min: 0, max: most * 1000 }).map((value) => value / 1000);

function amountUpTo(most: number, isWhole = false): fc.Arbitrary<Amount> {
  const one = isWhole ? fc.integer({ min: 0, max: most }) : milli(most);
  const range = fc.tuple(one, one).filter(([a, b]) => a !== b);
  return fc.oneof(
    one,
    range.map(([a, b]): Amount => [Math.min(a, b), Math.max(a, b)]),
  );
}

const form = fc.record(
  Object.fromEntries(
    formKeys().map((key) => [key, FORM_FIELDS[key].kind === 'flag' ? fc.boolean() : fc.integer({ min: 1, max: 9 })]),
  ),
) as unknown as fc.Arbitrary<Form>;

function stepOf(shape: Form, seconds: number): fc.Arbitrary<ScheduledStep> {
  return fc.tuple(fc.constantFrom(...(Object.keys(KINDS) as StepKind[])), fc.boolean()).chain(([kind, isLater]) => {
    const { targets, for: lasts } = KINDS[kind];
    const names = targetsOf(targets, { ...shape, seed: 1, seconds });
    const unit = KIND_WORDS[kind].value?.unit;
    return fc.record({
      at: amountUpTo(seconds),
      do: fc.constant(kind),
      targets:
        targets === 'none' ? fc.constant([]) : fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
      ...(lasts === undefined ? {} : { for: amountUpTo(90) }),
      ...(isLater ? { when: fc.constantFrom(...MOMENTS), lag: amountUpTo(5) } : {}),
      ...(unit === undefined ? {} : { value: amountUpTo(unit === 'share' ? 1 : 900, unit === 'whole') }),
    }) as fc.Arbitrary<ScheduledStep>;
  });
}

const scenario = fc.tuple(form, fc.integer({ min: 1, max: 600 })).chain(([shape, seconds]) =>
  fc.record(
    {
      name: text,
      about: text,
      found: fc.record({ rule: text, story: text, planted: text, trace: text }, { requiredKeys: ['rule', 'story'] }),
      seed: fc.nat(),
      form: fc.constant(shape),
      workload: fc.record({
        replicas: fc.record({ db: fc.nat(9), web: fc.nat(9), disk: fc.nat(1) }),
        hasDisks: fc.boolean(),
        database: fc.constantFrom(0, 3),
        clients: fc.record(
          Object.fromEntries(clientKinds().map((kind) => [kind, fc.nat(9)])) as Record<
            ClientKind,
            fc.Arbitrary<number>
          >,
        ),
      }),
      seconds: fc.constant(seconds),
      schedule: fc.array(stepOf(shape, seconds), { maxLength: 8 }),
      expect: fc.record(
        {
          wholeWithin: fc.integer({ min: 1, max: 900 }),
          recoverWithin: fc.integer({ min: 1_000, max: 60_000 }).map((value) => value / 1000),
        },
        { requiredKeys: ['wholeWithin'] },
      ),
    },
    { requiredKeys: ['name', 'seed', 'form', 'workload', 'seconds', 'schedule', 'expect'] },
  ),
) as fc.Arbitrary<Scenario>;

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('a printed scenario is parsed as the same scenario', () => {
  fc.assert(
    fc.property(scenario, (drawn) => {
      const printed = printScenario(drawn);
      assert.deepEqual(plain(parseScenario(printed)), plain(drawn), printed);
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('the plan of every random seed survives its scenario file', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const plan = huntPlanOf(seed);
    const again = planOf(parseScenario(printScenario(scenarioOf(plan, { name: `seed ${seed}` }))));
    assert.deepEqual(again.steps, plan.steps);
    for (const key of formKeys()) assert.equal(again[key], plan[key] ?? false, key);
    assert.deepEqual([again.hasDisks, again.seconds, isCalm(again)], [plan.hasDisks, plan.seconds, isCalm(plan)]);
  }
});

const MINIMAL = 'name: minimal\nlength: 60s\n';

test('fields that are left out have a meaning', () => {
  const { form: shape, workload, schedule, expect, seed } = parseScenario(MINIMAL);
  assert.deepEqual([shape.nodes, shape.apiServers, shape.selfFencing, shape.isLeaderless], [3, 2, true, false]);
  assert.deepEqual(workload, {
    replicas: { db: 3, web: 3, disk: 1 },
    hasDisks: false,
    database: 0,
    clients: NO_CLIENTS,
  });
  assert.deepEqual([schedule, expect, seed], [[], { wholeWithin: 900 }, 1]);
});

test('the seed draws what the file leaves open, and a changed line changes no other', () => {
  const of = (seed: number, first: string): readonly unknown[] =>
    planOf(
      parseScenario(`${MINIMAL}seed: ${seed}
schedule:
  - { at: ${first}, do: isolate, target: node-1, for: 1s }
  - { at: 10s..20s, do: pause, target: [node-1, node-2, apiserver], for: 1s..30s }
`),
    ).steps;
  assert.deepEqual(of(3, '1s'), of(3, '1s'));
  assert.deepEqual(of(3, '1s')[1], of(3, '2s')[1]);
  assert.notDeepEqual(of(3, '1s')[1], of(4, '1s')[1]);
});

const REFUSED: readonly (readonly [yaml: string, message: string])[] = [
  ['', 'line 1: name: it is missing'],
  ['- 1', 'line 1: a list is not a map of fields'],
  [
    'name: a\nlenght: 5s',
    'line 2: lenght: there is no such field; the fields here are name, about, seed, form, workload, length, schedule, expect, found',
  ],
  ['name: a\nlength: 60', 'line 2: length: "60" is not a time; write 90s, 1.5s or 15m'],
  ['name: a\nlength: 2h\nform: { nodes: 40 }', 'line 3: form.nodes: 40 is not a whole number from 1 to 9'],
  ['name: a\nlength: 2h\nform: { fencer: maybe }', 'line 3: form.fencer: "maybe" is neither true nor false'],
  ['name: a\nlength: 2h\nworkload: { database: 5 }', 'line 3: workload.database: a database has 3 members, or 0: none'],
  ['name: [a]\nlength: 2h', 'line 1: name: it is a list or a map, and one value is expected'],
  ['name: 5\nlength: 2h', 'line 1: name: 5 is not a text; write it in quotes'],
  [
    'name: &a b\nabout: *a\nlength: 2h',
    'line 2: about: aliases are not used in scenario files; write the value itself',
  ],
  ['name: a\nname: b', 'line 2: Map keys must be unique'],
  ['name: "a\n', 'line 2: Missing closing "quote'],
];

/** Steps, with the complaint about them. */
const REFUSED_STEPS: readonly (readonly [step: string, message: string])[] = [
  ['do: isolate', 'schedule[0].at: it is missing'],
  ['at: 5s, do: explode', 'schedule[0]: do: there is no "explode"; docs/scenarios.md lists what there is'],
  [
    'at: 5s, do: isolate, target: node-4',
    'schedule[0].target: there is no "node-4" in this form; "isolate" means node-1, node-2, node-3',
  ],
  ['at: 5s, do: isolate, target: []', 'schedule[0].target: it names nobody'],
  ['at: 5s, do: isolate', 'schedule[0].target: it is missing'],
  [
    'at: 5s, do: delete-pod, target: ../x',
    'schedule[0].target: there is no "../x" in this form; "delete-pod" means a pod, an application, or @NODE',
  ],
  ['at: 90s, do: bus-outage, for: 5s', 'schedule[0].at: "90s" is not between 0 and 60'],
  ['at: 5s..5s, do: bus-outage, for: 5s', 'schedule[0].at: "5s..5s" is not a time; write 5s, 1.5s or 5s..10s'],
  [
    'at: 5s, do: bus-outage, target: node-1',
    'schedule[0].target: there is no such field; the fields here are at, do, when, lag, for',
  ],
  ['at: 5s, do: lossy-link, target: node-1, for: 5s, loss: 2', 'schedule[0].loss: "2" is not between 0 and 1'],
  ['at: 5s, do: scale, target: db, replicas: 1.5', 'schedule[0].replicas: "1.5" is not a whole number'],
  ['at: 5s, do: scale, target: db', 'schedule[0].replicas: it is missing'],
];

test('what is wrong with a file is one sentence that names the line and the field', () => {
  const message = (yaml: string): string => {
    try {
      parseScenario(yaml);
    } catch (error) {
      assert.equal((error as Error).name, 'ScenarioError', String(error));
      return (error as Error).message;
    }
    return 'accepted';
  };
  for (const [yaml, wanted] of REFUSED) assert.equal(message(yaml), wanted);
  for (const [step, wanted] of REFUSED_STEPS)
    assert.equal(message(`${MINIMAL}schedule:\n  - { ${step} }\n`), `line 4: ${wanted}`);
  assert.match(message('x'.repeat(1_000_001)), /more than 1000000 characters/);
  assert.match(message(`${MINIMAL}schedule: [${'a,'.repeat(2_001)}]`), /2001 entries, and 2000 are the limit/);
});

test('every kind has words for its target and its value', () => {
  for (const [kind, { says, value }] of Object.entries(KIND_WORDS)) {
    assert.equal(says.includes('{value}'), value !== undefined, kind);
    assert.equal(says.includes('{target}'), KINDS[kind as StepKind].targets !== 'none', kind);
    assert.equal(KINDS[kind as StepKind].value !== undefined, value !== undefined, kind);
  }
  assert.ok(APPS.length > 0);
});
