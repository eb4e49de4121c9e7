import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { CORALS, coralDefinition, define, definitionUrl, schemaWith } from '../testing/custom.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

/** None of them is a double: each would become a neighbour. */
const ODD = '9007199254740993';
const LARGEST = '9223372036854775807';
const SMALLEST = '-9223372036854775808';

const integer = { type: 'integer', format: 'int64' };
const SPEC = {
  size: integer,
  sizes: { type: 'array', items: integer, 'x-kubernetes-list-type': 'set', maxItems: 10 },
  parts: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['id'],
    items: { type: 'object', required: ['id'], properties: { id: integer, text: { type: 'string' } } },
  },
  share: { type: 'number' },
  either: { 'x-kubernetes-int-or-string': true },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
  bounded: { ...integer, minimum: -10, maximum: 9_007_199_254_740_992 },
  exclusive: { ...integer, maximum: 9_007_199_254_740_992, exclusiveMaximum: true },
  stepped: { ...integer, multipleOf: 4 },
  chosen: integer,
  defaulted: integer,
};
const RULES = [
  { rule: '!has(self.size) || self.size != 9007199254740992', message: 'the neighbour' },
  { rule: '!has(self.either) || type(self.either) == string || self.either > 9007199254740992', message: 'too small' },
  { rule: '!has(self.share) || self.share < 1e19', message: 'too large' },
  { rule: '!has(self.sizes) || self.sizes.all(each, each != 9007199254740994)', message: 'an even one' },
];

/** As text: a body of JavaScript numbers cannot say such integers. */
const DEFINITION = JSON.stringify(
  coralDefinition({
    version: {
      schema: schemaWith(SPEC, { 'x-kubernetes-validations': RULES }),
      additionalPrinterColumns: [
        { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
        { name: 'Share', type: 'number', jsonPath: '.spec.share' },
        { name: 'Text', type: 'string', jsonPath: '.spec.size' },
      ],
      selectableFields: [{ jsonPath: '.spec.size' }],
    },
  }),
)
  .replace('"chosen":{', `"chosen":{"enum":[1,${ODD}],`)
  .replace('"defaulted":{', `"defaulted":{"default":${ODD},`);

let api: TestApi;
/** Another server of the same store: what it knows it has read as text. */
let other: TestApi;
const readers: TestApi[] = [];
/** One more of them. */
async function startReader(): Promise<TestApi> {
  const reader = await startTestApi({ store: api.store });
  readers.push(reader);
  return reader;
}
before(async () => {
  api = await startTestApi();
  await define(api, DEFINITION);
  other = await startTestApi({ store: api.store });
});
after(async () => {
  for (const reader of readers) await reader.server.stop();
  await other.server.stop();
  await api.stop();
});

const bodyWith = (name: string, spec: string): string =>
  `{"apiVersion":"reef.example.com/v1","kind":"Coral","metadata":{"name":"${name}"},"spec":{${spec}}}`;

const textOf = ({ raw }: Answer): string => {
  if (raw.body.kind !== 'json') return '';
  return new TextDecoder().decode(raw.body.bytes());
};
/** The text of the spec, which has no objects and no strings with braces in it. */
const specOf = (answer: Answer): string => /"spec":(\{[^{}]*\})/.exec(textOf(answer))?.[1] ?? textOf(answer);

const create = (name: string, spec: string): Promise<Answer> =>
  api.call('POST', CORALS, { body: bodyWith(name, spec) });

test('integers of 64 bits are stored, answered and watched as they are written', async () => {
  const spec = `"size":${LARGEST},"sizes":[${SMALLEST},${ODD}],"either":${ODD},"any":[[${ODD}],0.5],"defaulted":${SMALLEST}`;
  const made = await create('exact', spec);
  assert.equal(made.status, 201, textOf(made));
  const [added] = await other.watch(`${CORALS}?watch=1&fieldSelector=metadata.name=exact`, 1);
  const answers = [
    made,
    await api.call('GET', `${CORALS}/exact`),
    await other.call('GET', `${CORALS}/exact`),
    await other.call('GET', `${CORALS}?fieldSelector=spec.size=${LARGEST}`),
    await other.call('GET', `${CORALS}?labelSelector=!none&fieldSelector=metadata.name=exact`),
  ];
  for (const answer of answers) assert.equal(specOf(answer), `{${spec}}`);
  assert.deepEqual((added as { object: { spec: unknown } }).object.spec, made.at('spec'));
});

test('numbers that are not 64-bit integers get the value that Go gives them', async () => {
  const cases: readonly (readonly [written: string, kept: string])[] = [
    ['5.0', '5'],
    ['1e3', '1000'],
    ['9223372036854775808', '9223372036854776000'],
    ['18446744073709551615', '18446744073709552000'],
  ];
  for (const [written, kept] of cases) {
    const answer = await api.call('POST', `${CORALS}?dryRun=All`, { body: bodyWith('any', `"any":${written}`) });
    assert.equal(specOf(answer), `{"any":${kept},"defaulted":${ODD}}`, written);
  }
});

test('a large number matches an integer schema only when it is written as an integer', async () => {
  const wrongType = (field: string): string =>
    `${field}: Invalid value: "number": ${field} in body must be of type integer: "number"`;
  const cases: readonly (readonly [spec: string, message: string])[] = [
    ['"size":1e16', wrongType('spec.size')],
    [`"size":${ODD}.0`, wrongType('spec.size')],
    ['"size":9223372036854775808', wrongType('spec.size')],
    [
      `"bounded":${ODD}`,
      `spec.bounded: Invalid value: ${ODD}: spec.bounded in body should be less than or equal to 9007199254740992`,
    ],
    [
      `"bounded":${SMALLEST}`,
      `spec.bounded: Invalid value: ${SMALLEST}: spec.bounded in body should be greater than or equal to -10`,
    ],
    [
      '"exclusive":9007199254740992',
      'spec.exclusive: Invalid value: 9007199254740992: spec.exclusive in body should be less than 9007199254740992',
    ],
    [`"stepped":${LARGEST}`, `spec.stepped: Invalid value: ${LARGEST}: spec.stepped in body should be a multiple of 4`],
    ['"chosen":9007199254740992', `spec.chosen: Unsupported value: 9007199254740992: supported values: "1", "${ODD}"`],
    [`"sizes":[${ODD},1,${ODD}]`, `spec.sizes[2]: Duplicate value: ${ODD}`],
    ['"size":9007199254740992', 'spec: Invalid value: "object": the neighbour'],
    ['"either":9007199254740992', 'spec: Invalid value: "object": too small'],
    ['"sizes":[9007199254740994]', 'spec: Invalid value: "object": an even one'],
  ];
  for (const [spec, expected] of cases) {
    const answer = await api.call('POST', `${CORALS}?dryRun=All`, { body: bodyWith('refused', spec) });
    assert.equal(answer.status, 422, spec);
    assert.ok(answer.textAt('message').includes(expected), answer.textAt('message'));
  }
  const fitting = `"bounded":9007199254740992,"exclusive":9007199254740991,"stepped":9223372036854775804,"chosen":${ODD},"share":${ODD},"sizes":[9007199254740992,${ODD}]`;
  assert.equal(specOf(await create('fitting', fitting)), `{${fitting},"defaulted":${ODD}}`);
});

test('patches of every type preserve the integers that they write or pass by', async () => {
  await create('patched', `"size":${ODD},"any":${LARGEST}`);
  const patch = async (type: string, body: string): Promise<Answer> => {
    const headers = { 'content-type': `application/${type}` };
    const answer = await other.call('PATCH', `${CORALS}/patched`, { headers, body });
    return answer;
  };
  const merged = await patch('merge-patch+json', `{"spec":{"size":${SMALLEST}}}`);
  const defaulted = BigInt(ODD);
  assert.deepEqual(merged.at('spec'), { size: BigInt(SMALLEST), any: BigInt(LARGEST), defaulted });
  const operations = `[{"op":"test","path":"/spec/size","value":${SMALLEST}},{"op":"copy","from":"/spec/size","path":"/spec/any"},{"op":"replace","path":"/spec/size","value":${LARGEST}}]`;
  const replaced = await patch('json-patch+json', operations);
  assert.deepEqual(replaced.at('spec'), { size: BigInt(LARGEST), any: BigInt(SMALLEST), defaulted });
  const untrue = await patch('json-patch+json', '[{"op":"test","path":"/spec/size","value":9223372036854775806}]');
  assert.equal(untrue.status, 422);
});

test('a server-side apply owns and merges items that are large integers', async () => {
  const apply = async (manager: string, spec: string, query = ''): Promise<Answer> =>
    other.call('PATCH', `${CORALS}/applied?fieldManager=${manager}${query}`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: bodyWith('applied', spec),
    });
  const parts = (id: string, text: string): string => `"parts":[{"id":${id},"text":"${text}"}]`;
  const made = await apply('one', `"sizes":[9007199254740992,${ODD}],${parts(ODD, 'one')}`);
  assert.equal(made.status, 201, textOf(made));
  assert.match(textOf(made), new RegExp(`"f:sizes":\\{"v:9007199254740992":\\{\\},"v:${ODD}":\\{\\}\\}`));
  assert.match(textOf(made), new RegExp(`"k:\\{\\\\"id\\\\":${ODD}\\}"`));
  const added = await apply('two', `"sizes":[${LARGEST}],${parts('9007199254740992', 'two')}`);
  assert.match(textOf(added), new RegExp(`"sizes":\\[9007199254740992,${ODD},${LARGEST}\\]`));
  assert.match(textOf(added), new RegExp(`\\{"id":${ODD},"text":"one"\\},\\{"id":9007199254740992,"text":"two"\\}`));
  const conflict = await apply('two', `"sizes":[${LARGEST}],${parts(ODD, 'two')}`);
  assert.equal(conflict.status, 409);
  assert.match(conflict.textAt('message'), new RegExp(`\\.spec\\.parts\\[id=${ODD}\\]\\.text`));
  const left = await apply('one', `"sizes":[${ODD}]`);
  assert.match(textOf(left), new RegExp(`"sizes":\\[${ODD},${LARGEST}\\]`));
});

test('YAML is read and written with the same integers', async () => {
  const body = `apiVersion: reef.example.com/v1\nkind: Coral\nmetadata: {name: yaml}\nspec:\n  size: ${ODD}\n  sizes: [${SMALLEST}, ${LARGEST}, 0x10]\n  any: {large: 18446744073709551615, real: 1e3, none: ~}\n`;
  const made = await api.call('POST', CORALS, { body, headers: { 'content-type': 'application/yaml' } });
  assert.equal(made.status, 201, textOf(made));
  assert.match(textOf(made), new RegExp(`"size":${ODD},"sizes":\\[${SMALLEST},${LARGEST},16\\]`));
  assert.match(textOf(made), /"any":\{"large":18446744073709552000,"real":1000,"none":null\}/);
  const read = await other.call('GET', `${CORALS}/yaml`, { headers: { accept: 'application/yaml' } });
  assert.match(String(read.body), new RegExp(`  size: ${ODD}\n  sizes:\n  - ${SMALLEST}\n  - ${LARGEST}\n  - 16\n`));
});

test('a table shows large integers, and an integer column stays empty for text', async () => {
  await create('shown', `"size":${ODD},"share":${LARGEST}`);
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const table = await other.call('GET', `${CORALS}/shown`, { headers });
  assert.match(textOf(table), new RegExp(`"cells":\\["shown",${ODD},${LARGEST},"${ODD}"\\]`));
});

test('a default and its definition are exact', async () => {
  assert.equal(specOf(await create('bare', '')), `{"defaulted":${ODD}}`);
  for (const server of [api, other]) {
    const definition = textOf(await server.call('GET', definitionUrl('corals.reef.example.com')));
    assert.match(definition, new RegExp(`"default":${ODD}`));
    assert.match(definition, new RegExp(`"enum":\\[1,${ODD}\\]`));
  }
});

test('an update of only the last digit is a change', async () => {
  const made = await create('step', '"size":9007199254740994');
  const body = textOf(made).replace('9007199254740994', ODD);
  const updated = await other.call('PUT', `${CORALS}/step`, { body });
  assert.equal(specOf(updated), `{"size":${ODD},"defaulted":${ODD}}`);
  assert.equal(updated.at('metadata.generation'), 2);
  const same = await api.call('PUT', `${CORALS}/step`, { body: textOf(updated) });
  assert.equal(same.textAt('metadata.resourceVersion'), updated.textAt('metadata.resourceVersion'));
});

test('built-in kinds refuse an integer that they would round', async () => {
  const pod = (seconds: string): string =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"terminationGracePeriodSeconds":${seconds},"containers":[{"name":"c","image":"i"}]}}`;
  const url = '/api/v1/namespaces/default/pods?dryRun=All';
  for (const seconds of [ODD, '9223372036854774001']) {
    const answer = await api.call('POST', url, { body: pod(seconds) });
    assert.equal(answer.status, 400);
    assert.match(answer.textAt('message'), new RegExp(`cannot unmarshal number ${seconds} into Go struct field`));
  }
  const kept = await api.call('POST', url, { body: pod('9007199254740992') });
  assert.match(textOf(kept), /"terminationGracePeriodSeconds":9007199254740992,/);
  assert.equal((await api.call('POST', url, { body: pod(LARGEST) })).status, 201);
});

test('servers that read a definition as text see the numbers that its writer sees', async () => {
  const text = { type: 'string', maxLength: 1 };
  const definition = JSON.stringify(
    coralDefinition({
      version: { schema: schemaWith({ text }) },
      names: { plural: 'reefs', singular: 'reef', kind: 'Reef', listKind: 'ReefList' },
    }),
  )
    .replace('corals.reef', 'reefs.reef')
    .replace('"maxLength":1', `"maxLength":${LARGEST},"default":${JSON.stringify(ODD)}`);
  await define(api, definition);
  const url = definitionUrl('reefs.reef.example.com');
  const reader = await startReader();
  const read = await reader.call('GET', url);
  const same = await reader.call('PUT', url, { body: textOf(read) });
  assert.equal(same.status, 200, textOf(same));
  assert.equal(same.at('metadata.generation'), read.at('metadata.generation'));
  assert.equal(same.textAt('metadata.resourceVersion'), read.textAt('metadata.resourceVersion'));
});

test('the data of a revision are the same for every server, and its number is a number', async () => {
  const url = '/apis/apps/v1/namespaces/default/controllerrevisions';
  const revision = (number: number | string): string =>
    `{"metadata":{"name":"r"},"revision":${number},"data":{"size":${ODD},"seconds":9223372036854775000}}`;
  assert.equal((await api.call('POST', url, { body: revision(1) })).status, 201);
  const reader = await startReader();
  const renumbered = await reader.call('PUT', `${url}/r`, { body: revision(LARGEST) });
  assert.equal(renumbered.status, 200, textOf(renumbered));
  const third = await startReader();
  const labelled = await third.call('PATCH', `${url}/r`, { body: { metadata: { labels: { a: 'b' } } } });
  assert.match(textOf(labelled), new RegExp(`"data":\\{"size":${ODD},"seconds":9223372036854775000\\}`));
  const { value } = labelled.raw.body.kind === 'json' ? labelled.raw.body : assert.fail();
  assert.equal(typeof (value() as { revision: unknown }).revision, 'number');
});

/** Data without a schema: any JSON, with large integers among small ones. */
const large = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const name = fc.string().map((text) => JSON.stringify(`k${text}`));
const { data } = fc.letrec((tie) => ({
  data: fc.oneof(
    { maxDepth: 3 },
    large,
    fc.constantFrom('null', 'true', '-1', '0.5', `"${ODD}"`),
    fc.array(tie('data'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(name, tie('data')), { selector: ([key]) => key, maxLength: 4 })
      .map((members) => `{${members.map(([key, text]) => `${key}:${String(text)}`).join(',')}}`),
  ),
}));

test('any data with 64-bit integers round-trips exactly', async () => {
  let made = 0;
  const since = (await api.call('GET', CORALS)).textAt('metadata.resourceVersion');
  await fc.assert(
    fc.asyncProperty(data, large, async (text, changed) => {
      made += 1;
      const url = `${CORALS}/any-${made}`;
      const expected = `"any":{"kept":${String(text)},"size":`;
      const created = await create(`any-${made}`, `"any":{"kept":${String(text)},"size":${changed}}`);
      const patched = await other.call('PATCH', url, { body: `{"spec":{"any":{"size":${ODD}}}}` });
      const read = await api.call('GET', url);
      assert.ok(textOf(created).includes(`${expected}${changed}}`), textOf(created));
      for (const answer of [patched, read]) assert.ok(textOf(answer).includes(`${expected}${ODD}}`), textOf(answer));
      const events = await other.watch(
        `${CORALS}?watch=1&resourceVersion=${since}&fieldSelector=metadata.name=any-${made}`,
        2,
      );
      assert.deepEqual(
        events.map((event) => (event as { object: unknown }).object),
        [created.body, patched.body],
      );
    }),
    { numRuns: 30 },
  );
});

test('webhooks get and return exact integers', async () => {
  const asked: string[] = [];
  const hooked = await startTestApi({
    webhooks: {
      call: async (_target, body) => {
        asked.push(body);
        const uid = /"uid":"([^"]*)"/.exec(body)?.[1];
        if (body.includes('ConversionReview')) return conversionOf(body, uid);
        const patch = Buffer.from(`[{"op":"add","path":"/spec/any","value":${LARGEST}}]`).toString('base64');
        return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"${uid}","allowed":true,"patchType":"JSONPatch","patch":"${patch}"}}`;
      },
    },
  });
  const webhook = {
    name: 'sizes.example.com',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [{ operations: ['CREATE'], apiGroups: ['*'], apiVersions: ['*'], resources: ['corals'] }],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
  };
  await define(hooked, convertedDefinition());
  const registered = await hooked.call('POST', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
    body: { metadata: { name: 'sizes' }, webhooks: [webhook] },
  });
  assert.equal(registered.status, 201, textOf(registered));
  const made = await hooked.call('POST', CORALS, { body: bodyWith('hooked', `"size":${ODD}`) });
  assert.equal(specOf(made), `{"size":${ODD},"any":${LARGEST}}`);
  assert.match(asked[0] ?? '', new RegExp(`"size":${ODD}`));
  const second = await hooked.call('GET', `${CORALS.replace('/v1/', '/v2/')}/hooked`);
  assert.match(asked.at(-1) ?? '', new RegExp(`"spec":\\{"size":${ODD},"any":${LARGEST}\\}`));
  assert.equal(specOf(second), `{"size":${ODD},"any":${LARGEST},"more":${SMALLEST}}`);
  await hooked.stop();
});

/** A version that differs by one field. */
function convertedDefinition(): unknown {
  const version = (name: string): object => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: schemaWith({ size: integer, any: SPEC.any, more: integer }),
  });
  const conversion = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:1/' } },
  };
  return coralDefinition({ definition: { versions: [version('v1'), version('v2')], conversion } });
}

function conversionOf(body: string, uid = ''): string {
  const object = /"objects":\[(.*)\]\}\}$/.exec(body)?.[1] ?? '';
  const converted = object
    .replace('example.com/v1', 'example.com/v2')
    .replace(`"any":${LARGEST}`, `"any":${LARGEST},"more":${SMALLEST}`);
  return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"${uid}","result":{"status":"Success"},"convertedObjects":[${converted}]}}`;
}
