import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const create = (query: string, headers: Record<string, string> = {}) =>
  api.call('POST', `${MAPS}?${query}`, { body: configMapBody('a', { k: 'v' }), headers });

test('all errors in the options are reported together', async () => {
  const long = 'x'.repeat(129);
  const refused = await create(`fieldManager=${long}&dryRun=Some&fieldValidation=Maybe`);
  assert.equal(refused.status, 422);
  assert.equal(
    refused.at('message'),
    'CreateOptions.meta.k8s.io "" is invalid: [fieldManager: Too long: may not be more than 128 bytes, dryRun: Unsupported value: []string{"Some"}: supported values: "All", fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"]',
  );
  assert.deepEqual(refused.at('details.causes.0.reason'), 'FieldValueTooLong');
});

test('an unprintable manager is refused', async () => {
  const refused = await create('fieldManager=a%07b');
  assert.match(
    refused.textAt('message'),
    /fieldManager: Invalid value: .*: invalid character U\+0007 \(at position 1\)$/,
  );
});

test('without a field manager, the name of the client program is used, shortened if needed', async () => {
  const created = await create('', { 'user-agent': `${'é'.repeat(80)}/v1` });
  assert.equal(created.at('metadata.managedFields.0.manager'), 'é'.repeat(64));
});

test('a request over all namespaces is read-only', async () => {
  assert.equal((await api.call('POST', '/api/v1/configmaps', { body: configMapBody('a') })).status, 405);
  assert.equal((await api.call('DELETE', '/api/v1/configmaps')).status, 405);
  assert.equal((await api.call('GET', '/api/v1/configmaps')).status, 200);
  assert.equal((await api.call('GET', '/api/v1/configmaps/a')).status, 404);
});
