import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { CORALS, coral, coralDefinition, define, definitionUrl, schemaWith, until } from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

const NAME = 'corals.reef.example.com';
const RUNS = 150;

const words = fc.constantFrom('a', 'b', 'items', 'type', 'constructor', '__proto__', 'self', '');
const anything = fc.letrec((tie) => ({
  below: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'schema' },
    fc.constantFrom<unknown>({ type: 'string' }, { type: 'integer' }, {}, null),
    tie('schema'),
  ),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 1 }),
    tie('below'),
    fc.array(tie('below'), { maxLength: 2 }),
  ),
  schema: fc.record(
    {
      type: fc.constantFrom<unknown>('object', 'array', 'string', 'integer', 'null', 1),
      properties: fc.dictionary(words, tie('below'), { maxKeys: 3 }),
      items: tie('value'),
      additionalProperties: fc.oneof(fc.boolean(), tie('below')),
      required: fc.array(words, { maxLength: 3 }),
      anyOf: fc.array(tie('below'), { maxLength: 2 }),
      not: tie('below'),
      enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 3 }),
      default: fc.jsonValue({ maxDepth: 2 }),
      nullable: fc.boolean(),
      pattern: fc.constantFrom('^a+$', '(a+)+$', '[', 'a{1000}{1000}', '^[a-z]*$'),
      format: fc.constantFrom('date-time', 'byte', 'nonsense'),
      minimum: fc.double(),
      maxLength: fc.integer(),
      'x-kubernetes-list-type': fc.constantFrom('map', 'set', 'atomic', 'nonsense'),
      'x-kubernetes-list-map-keys': fc.array(words, { maxLength: 2 }),
      'x-kubernetes-int-or-string': fc.boolean(),
      'x-kubernetes-preserve-unknown-fields': fc.boolean(),
      'x-kubernetes-embedded-resource': fc.boolean(),
      'x-kubernetes-validations': fc.array(
        fc.record({
          rule: fc.oneof(fc.string(), fc.constantFrom('self.a', 'self == oldSelf', 'self.all(x, x.all(y, true))')),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ),
})).schema;

/** Whatever is wrong with what was sent is the sender's mistake. */
const ANSWERS: ReadonlySet<number> = new Set([200, 201, 400, 409, 413, 422]);

async function forget(): Promise<void> {
  await api.call('DELETE', definitionUrl(NAME));
  await until(async () => (await api.call('GET', definitionUrl(NAME))).status === 404);
}

test('property: a definition with any schema is accepted or refused, and its kind then accepts or refuses any object', async () => {
  await fc.assert(
    fc.asyncProperty(anything, fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 3 }), async (spec, values) => {
      const definition = coralDefinition({ version: { schema: schemaWith({ any: spec }) } });
      const created = await api.call('POST', definitionUrl('').slice(0, -1), { body: definition });
      assert.ok(ANSWERS.has(created.status), JSON.stringify(created.body));
      if (created.status !== 201) return;
      try {
        await until(async () => (await api.call('GET', CORALS)).status === 200);
        for (const [i, any] of values.entries()) {
          const written = await api.call('POST', CORALS, { body: coral(`c${i}`, { any }) });
          assert.ok(ANSWERS.has(written.status), JSON.stringify(written.body));
          if (written.status !== 201) continue;
          const again = await api.call('PUT', `${CORALS}/c${i}`, { body: written.body });
          assert.equal(again.status, 200, JSON.stringify(again.body));
          assert.equal(again.at('metadata.resourceVersion'), written.at('metadata.resourceVersion'));
        }
        assert.equal((await api.call('GET', '/openapi/v3/apis/reef.example.com/v1')).status, 200);
      } finally {
        await forget();
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

test('property: any expression as a rule is accepted or refused', async () => {
  const parts = fc.constantFrom(
    'self',
    'oldSelf',
    '.a',
    '.b',
    '(',
    ')',
    '[0]',
    ' + ',
    ' == ',
    '.all(x, x)',
    "'a'",
    '1',
    '.matches("(a+)+$")',
    '.map(x, x)',
    ' ? ',
    ' : ',
    '{',
    '}',
    '!',
    '.size()',
  );
  const rule = fc.oneof(
    fc.array(parts, { maxLength: 12 }).map((each) => each.join('')),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(rule, async (text) => {
      const spec = {
        a: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 10 } },
        b: { type: 'integer' },
      };
      const version = { schema: schemaWith(spec, { 'x-kubernetes-validations': [{ rule: text }] }) };
      const body = coralDefinition({ version });
      const answer = await api.call('POST', `${definitionUrl('').slice(0, -1)}?dryRun=All`, { body });
      assert.ok(ANSWERS.has(answer.status), `${JSON.stringify(text)}: ${JSON.stringify(answer.body)}`);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

test('afterwards an ordinary kind is still served', async () => {
  await define(api, coralDefinition({ spec: { depth: { type: 'integer' } } }));
  assert.equal((await api.call('POST', CORALS, { body: coral('a', { depth: 1 }) })).status, 201);
});
