import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { CORALS, coral, coralDefinition, define, definitionUrl } from '../testing/custom.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const NUMBERS = ['1e400', '-1E+400', '12.5e999', `1${'0'.repeat(309)}`];

let api: TestApi;
let answered: (request: { readonly uid: string; readonly object: object }) => string;
beforeEach(async () => {
  const answer = (body: string): string =>
    answered((JSON.parse(body) as { request: Parameters<typeof answered>[0] }).request);
  api = await startTestApi({ webhooks: { call: async (_target, body) => answer(body) } });
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', properties: { spec: free, status: free } };
  await define(api, coralDefinition({ version: { schema: { openAPIV3Schema }, subresources: { status: {} } } }));
});
afterEach(() => api.stop());

const textWith = (number: string): string =>
  `{"apiVersion":"reef.example.com/v1","kind":"Coral","metadata":{"name":"a"},"spec":{"list":[["x",${number}]]}}`;

const send = (request: string, type: string, body: string): Promise<Answer> => {
  const [method = '', url = ''] = request.split(' ');
  return api.call(method as 'POST', url, { body, headers: { 'content-type': type } });
};

async function refuses(code: number, message: RegExp, sent: Promise<Answer>): Promise<void> {
  const refused = await sent;
  assert.equal(refused.status, code, JSON.stringify(refused.body).slice(0, 500));
  assert.match(refused.textAt('message'), message);
}

for (const number of NUMBERS) {
  test(`a custom resource with a number beyond a double is refused: ${number.slice(0, 9)}`, async () => {
    const why = /json: cannot unmarshal number -?1\S+ into Go value of type float64/;
    const text = textWith(number);
    await refuses(
      400,
      /^Coral in version "v1" cannot be handled as a Coral: json/,
      send(`POST ${CORALS}`, 'application/json', text),
    );
    await refuses(400, why, send(`POST ${CORALS}`, 'application/yaml', text));
    await refuses(400, why, send(`PATCH ${CORALS}/a?fieldManager=x`, 'application/apply-patch+yaml', text));
    await api.call('POST', CORALS, { body: coral('a') });
    await refuses(400, why, send(`PUT ${CORALS}/a`, 'application/json', text));
    const merge = (field: string): string => `{"${field}":{"y":[[${number}]]}}`;
    await refuses(422, why, send(`PATCH ${CORALS}/a`, 'application/merge-patch+json', merge('spec')));
    await refuses(422, why, send(`PATCH ${CORALS}/a/status`, 'application/merge-patch+json', merge('status')));
    const json = `[{"op":"add","path":"/spec/y","value":${number}}]`;
    await refuses(422, why, send(`PATCH ${CORALS}/a`, 'application/json-patch+json', json));
    assert.deepEqual((await api.call('GET', `${CORALS}/a`)).at('spec'), {});
  });
}

test('a large number that a double holds is stored', async () => {
  const made = await send(`POST ${CORALS}`, 'application/json', textWith('1.5e300'));
  assert.deepEqual([made.status, made.at('spec.list.0.1')], [201, 1.5e300]);
});

test('a YAML document with a number that is not finite is refused', async () => {
  for (const [number, shown] of [
    ['.inf', /json: unsupported value: \+Inf/],
    ['-.inf', /json: unsupported value: -Inf/],
    ['.nan', /json: unsupported value: NaN/],
    ['1e400', /json: unsupported value: \+Inf/],
  ] as const) {
    const text = `apiVersion: reef.example.com/v1\nkind: Coral\nmetadata: {name: a}\nspec: {x: ${number}}\n`;
    await refuses(400, shown, send(`POST ${CORALS}`, 'application/yaml', text));
    await refuses(400, shown, send(`PATCH ${CORALS}/a?fieldManager=x`, 'application/apply-patch+yaml', text));
  }
});

test('a free field of a built-in kind with such a number is refused', async () => {
  const field = (value: string): string =>
    `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"number","default":${value}}}}}}}}]}}`;
  const url = definitionUrl('corals.reef.example.com');
  await refuses(422, /float64/, send(`PATCH ${url}`, 'application/merge-patch+json', field('1e400')));
});

test('a webhook that puts such a number into an object gives an invalid answer', async () => {
  const patch = Buffer.from('[{"op":"add","path":"/spec/y","value":1e400}]').toString('base64');
  answered = ({ uid }) =>
    JSON.stringify({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      response: { uid, allowed: true, patchType: 'JSONPatch', patch },
    });
  const rules = [{ operations: ['*'], apiGroups: ['reef.example.com'], apiVersions: ['v1'], resources: ['corals'] }];
  const webhook = { name: 'h.example.com', clientConfig: { url: 'https://hook.example.com/' }, rules };
  const body = {
    metadata: { name: 'h' },
    webhooks: [{ ...webhook, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
  };
  const url = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
  assert.equal((await api.call('POST', url, { body })).status, 201);
  await api.call('GET', url);
  await refuses(
    500,
    /invalid webhook response: the answer has a number that no float64 can hold$/,
    api.call('POST', CORALS, { body: coral('a') }),
  );
});
