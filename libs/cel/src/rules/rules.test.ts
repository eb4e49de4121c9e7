import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PatternRoom } from '@holdfast/api';
import { fieldErrorMessage, type JsonObject } from '@holdfast/machinery';
import { createRuleEngine } from './engine.ts';

const engine = createRuleEngine();
const PATH = 'spec.validation.openAPIV3Schema';

/** A definition whose `spec` has this schema. */
function resource(spec: JsonObject): JsonObject {
  return { type: 'object', properties: { spec } };
}

function object(properties: JsonObject, rules: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return { type: 'object', properties, 'x-kubernetes-validations': rules, ...more };
}

function problems(schema: JsonObject, old?: JsonObject): readonly string[] {
  return engine.check(schema, PATH, { old, patterns: new PatternRoom(200_000) }).map(fieldErrorMessage);
}

function broken(schema: JsonObject, value: JsonObject, old?: JsonObject): readonly string[] {
  return (engine.compile(schema)?.evaluate({ object: value, old }) ?? []).map(fieldErrorMessage);
}

const N = { n: { type: 'integer' } };
const GO_RULE = (rule: string): string =>
  `apiextensions.ValidationRule{Rule:${JSON.stringify(rule)}, Message:"", MessageExpression:"", Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:"", OptionalOldSelf:(*bool)(nil)}`;

test('check: a rule that does not parse is reported with its position', () => {
  assert.deepEqual(problems(resource(object(N, [{ rule: 'self.' }]))), [
    `${PATH}.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ${GO_RULE('self.')}: compilation failed: ERROR: <input>:1:6: Syntax error: no viable alternative at input '.'\n | self.\n | .....^`,
  ]);
});

test('check: types come from the schema', () => {
  const [wrongType] = problems(resource(object(N, [{ rule: "self.n == 'a'" }])));
  assert.match(wrongType ?? '', /found no matching overload for '_==_' applied to '\(int, string\)'/);
  const [unknown] = problems(resource(object(N, [{ rule: 'self.m == 1' }])));
  assert.match(unknown ?? '', /ERROR: <input>:1:5: undefined field 'm'\n \| self\.m == 1\n \| \.\.\.\.\^$/);
  const [notBool] = problems(resource(object(N, [{ rule: 'self.n' }])));
  assert.match(notBool ?? '', /cel expression must evaluate to a bool$/);
});

test('check: property names are escaped', () => {
  const schema = object({ 'a-b': { type: 'integer' }, namespace: { type: 'string' }, 'x.y/z': { type: 'string' } }, [
    { rule: "self.a__dash__b > 0 && self.__namespace__ != '' && self.x__dot__y__slash__z == 'q'" },
  ]);
  assert.deepEqual(problems(resource(schema)), []);
  assert.deepEqual(broken(resource(schema), { spec: { 'a-b': 1, namespace: 'n', 'x.y/z': 'q' } }), []);
  assert.equal(broken(resource(schema), { spec: { 'a-b': 0, namespace: 'n', 'x.y/z': 'q' } }).length, 1);
});

test('check: a rule with unbounded cost is refused, a bounded one is accepted', () => {
  const items = { type: 'string' };
  const rule = { rule: "self.l.all(x, self.l.all(y, x == y || x != 'a'))" };
  const [problem] = problems(resource(object({ l: { type: 'array', items } }, [rule])));
  assert.match(
    problem ?? '',
    /Forbidden: estimated rule cost exceeds budget by factor of more than 100x \(try simplifying/,
  );
  const bounded = { type: 'array', maxItems: 20, items: { type: 'string', maxLength: 20 } };
  assert.deepEqual(problems(resource(object({ l: bounded }, [rule]))), []);
});

test('check: the cost of a rule below an unbounded list is multiplied by its elements', () => {
  const element = object({ s: { type: 'string' } }, [{ rule: "self.s.contains('a') || self.s.contains('b')" }]);
  const [problem] = problems(resource({ type: 'object', properties: { l: { type: 'array', items: element } } }));
  assert.match(
    problem ?? '',
    /properties\[l\]\.items\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost/,
  );
});

test('check: oldSelf requires a correlatable value', () => {
  const list = { type: 'array', maxItems: 5, items: object(N, [{ rule: 'self.n == oldSelf.n' }]) };
  const [problem] = problems(resource({ type: 'object', properties: { l: list } }));
  assert.match(
    problem ?? '',
    /oldSelf cannot be used on the uncorrelatable portion of the schema within .*properties\[l\]$/,
  );
  const keyed = { ...list, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['n'] };
  assert.deepEqual(problems(resource({ type: 'object', properties: { l: keyed } })), []);
});

test('check: formats of message, reason and fieldPath', () => {
  const rule = { rule: 'self.n > 0', message: ' ', reason: 'Odd', fieldPath: '.q' };
  const found = problems(resource(object(N, [rule]))).join('\n');
  assert.match(found, /message: Invalid value: " ": message must be non-empty if specified/);
  assert.match(found, /reason: Unsupported value: "Odd": supported values: "FieldValueRequired"/);
  assert.match(found, /fieldPath: Invalid value: "\.q": fieldPath is an invalid path: does not refer to a valid field/);
});

test('check: rules of the stored definition are still accepted', () => {
  const schema = resource(object(N, [{ rule: 'self.m == 1' }]));
  assert.equal(problems(schema).length, 1);
  assert.deepEqual(problems(schema, schema), []);
});

test('check: the patterns in all rules of a definition share one room', () => {
  const rules = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ rule: `self.s.matches('(?:${index}ab){990}')` }));
  const schema = (count: number): JsonObject => resource(object({ s: { type: 'string', maxLength: 9 } }, rules(count)));
  assert.deepEqual(problems(schema(30)), []);
  assert.match(problems(schema(100)).join(), /\[99\]\.rule: Invalid value: .*invalid matches argument/s);
  assert.deepEqual(problems(schema(100), schema(100)), []);
});

test('evaluate: a broken rule names its path, its type and its message', () => {
  const rules = [{ rule: 'self.n > 3' }, { rule: 'self.n > 4', message: 'too few' }];
  assert.deepEqual(broken(resource(object(N, rules)), { spec: { n: 3 } }), [
    'spec: Invalid value: "object": failed rule: self.n > 3',
    'spec: Invalid value: "object": too few',
  ]);
});

test('evaluate: messageExpression, reason and fieldPath', () => {
  const rule = {
    rule: 'self.n > 3',
    message: 'plain',
    messageExpression: "'n is %d'.format([self.n])",
    reason: 'FieldValueForbidden',
    fieldPath: '.n',
  };
  assert.deepEqual(broken(resource(object(N, [rule])), { spec: { n: 3 } }), ['spec.n: Forbidden: n is 3']);
  const empty = { ...rule, messageExpression: "''" };
  assert.deepEqual(broken(resource(object(N, [empty])), { spec: { n: 3 } }), ['spec.n: Forbidden: plain']);
});

test('evaluate: a rule of the root has no path', () => {
  const schema = { ...resource(object(N, [])), 'x-kubernetes-validations': [{ rule: "self.metadata.name != 'bad'" }] };
  const value = { metadata: { name: 'bad' }, spec: {} };
  assert.deepEqual(broken(schema, value), [
    '<nil>: Invalid value: "object": failed rule: self.metadata.name != \'bad\'',
  ]);
});

test('evaluate: transition rules need an old value, unless it is optional', () => {
  const schema = resource(object(N, [{ rule: 'self.n >= oldSelf.n' }]));
  assert.deepEqual(broken(schema, { spec: { n: 1 } }), []);
  assert.equal(broken(schema, { spec: { n: 1 } }, { spec: { n: 2 } }).length, 1);
  const optional = resource(object(N, [{ rule: 'oldSelf.hasValue() || self.n == 0', optionalOldSelf: true }]));
  assert.equal(broken(optional, { spec: { n: 1 } }).length, 1);
  assert.deepEqual(broken(optional, { spec: { n: 1 } }, { spec: { n: 5 } }), []);
});

test('evaluate: elements of a keyed list are correlated in any order', () => {
  const items = object({ k: { type: 'string' }, n: { type: 'integer' } }, [{ rule: 'self.n == oldSelf.n' }]);
  const list = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
  const schema = resource({ type: 'object', properties: { l: list } });
  const a = { k: 'a', n: 1 };
  const b = { k: 'b', n: 2 };
  assert.deepEqual(broken(schema, { spec: { l: [b, a] } }, { spec: { l: [a, b] } }), []);
  assert.deepEqual(
    broken(
      schema,
      {
        spec: {
          l: [
            { k: 'a', n: 7 },
            { k: 'c', n: 9 },
          ],
        },
      },
      { spec: { l: [a, b] } },
    ),
    ['spec.l[0]: Invalid value: "object": failed rule: self.n == oldSelf.n'],
  );
});

test('evaluate: an unchanged value may stay invalid', () => {
  const child = object(N, [{ rule: 'self.n > 3' }]);
  const schema = resource({ type: 'object', properties: { a: child, b: { type: 'integer' } } });
  const old = { spec: { a: { n: 1 }, b: 1 } };
  assert.deepEqual(broken(schema, { spec: { a: { n: 1 }, b: 2 } }, old), []);
  assert.equal(broken(schema, { spec: { a: { n: 2 }, b: 2 } }, old).length, 1);
});

test('evaluate: allOf, maps, nulls, and values of any type', () => {
  const intOrString = { 'x-kubernetes-int-or-string': true };
  const schema = resource({
    type: 'object',
    properties: {
      labels: {
        type: 'object',
        additionalProperties: { type: 'string', 'x-kubernetes-validations': [{ rule: "self != 'no'" }] },
      },
      port: { ...intOrString, 'x-kubernetes-validations': [{ rule: 'type(self) == string || self < 5' }] },
      maybe: { type: 'string', nullable: true, 'x-kubernetes-validations': [{ rule: "self == 'x'" }] },
    },
    allOf: [{ 'x-kubernetes-validations': [{ rule: 'size(self.labels) < 3' }] }],
  });
  assert.deepEqual(
    broken(schema, { spec: { labels: { 'a.b': 'no', c: 'yes' }, port: 7, maybe: null } }),
    [
      'spec.labels[a.b]: Invalid value: "string": failed rule: self != \'no\'',
      'spec.port: Invalid value: "": failed rule: type(self) == string || self < 5',
    ].map((line) => line.replace('Invalid value: ""', 'Invalid value: "null"')),
  );
  assert.equal(broken(schema, { spec: { labels: { a: '1', b: '2', c: '3' } } }).length, 1);
});

test('evaluate: a failed evaluation is reported with its rule', () => {
  const schema = resource(object({ l: { type: 'array', items: { type: 'integer' } } }, [{ rule: 'self.l[3] == 1' }]));
  assert.deepEqual(broken(schema, { spec: { l: [] } }), [
    'spec: Invalid value: "object": index out of bounds: 3 evaluating rule: self.l[3] == 1',
  ]);
});

test('evaluate: sets are equal in any order', () => {
  const set = { type: 'array', maxItems: 9, items: { type: 'string', maxLength: 9 }, 'x-kubernetes-list-type': 'set' };
  const schema = resource(object({ s: set }, [{ rule: 'self.s == oldSelf.s' }]));
  assert.deepEqual(broken(schema, { spec: { s: ['a', 'b'] } }, { spec: { s: ['b', 'a'] } }), []);
});

test('evaluate: the cost limit stops a rule, and then all other rules of the object', () => {
  const l = { type: 'array', items: { type: 'integer' } };
  const rule = { rule: 'self.l.all(a, self.l.all(b, a + b < 0 || a + b >= 0))' };
  const schema = resource(object({ l }, [rule, { rule: 'false' }]));
  const [problem, ...others] = broken(schema, { spec: { l: Array.from({ length: 2_000 }, (_, i) => i) } });
  assert.match(problem ?? '', /no further validation rules will be run due to call cost exceeds limit for rule/);
  assert.deepEqual(others, []);
});

test('evaluate: the deadline stops a cheap expression that runs for long', () => {
  let now = 0;
  const slow = createRuleEngine({ now: () => (now += 50), maxMilliseconds: 100 });
  const l = { type: 'array', items: { type: 'integer' } };
  const schema = resource(object({ l }, [{ rule: 'self.l.all(a, a >= 0)' }]));
  const [problem] =
    slow
      .compile(schema)
      ?.evaluate({ object: { spec: { l: Array.from({ length: 50_000 }, (_, i) => i) } }, old: undefined }) ?? [];
  assert.match(problem?.detail ?? '', /evaluation took too long/);
});

test('evaluate: however many rules fail, a value is compared with its old value once', () => {
  const rules = Array.from({ length: 50 }, (_, index) => ({ rule: `self.l.size() == ${index + 100}` }));
  const schema = resource(object({ l: { type: 'array', items: { type: 'integer' } } }, rules));
  let reads = 0;
  const l = new Proxy([1, 2, 3], {
    get: (target, key) => {
      if (key === '0') reads += 1;
      return Reflect.get(target, key);
    },
  });
  assert.equal(broken(schema, { spec: { l: [1, 2, 4] } }, { spec: { l } }).length, 50);
  assert.ok(reads <= 2, `${reads} comparisons`);
});
