import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const GROUP = '/apis/admissionregistration.k8s.io';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

test('MutatingAdmissionPolicy is off, as by default in 1.32: neither its version nor its resources are served', async () => {
  const group = await api.call('GET', GROUP);
  assert.deepEqual(
    (group.body as { versions: { version: string }[] }).versions.map(({ version }) => version),
    ['v1'],
  );
  const served = (await api.call('GET', `${GROUP}/v1`)).body as { resources: { name: string }[] };
  assert.deepEqual(
    served.resources.filter(({ name }) => name.startsWith('mutatingadmissionpolic')),
    [],
  );
  const aggregated = await api.call('GET', '/apis', {
    headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
  });
  assert.equal(JSON.stringify(aggregated.body).includes('MutatingAdmissionPolicy'), false);
});

for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
  for (const plural of ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']) {
    test(`${plural} of ${version} are not found`, async () => {
      for (const method of ['GET', 'POST'] as const) {
        const body = method === 'POST' ? { body: { metadata: { name: 'p' }, spec: {} } } : {};
        const answer = await api.call(method, `${GROUP}/${version}/${plural}`, body);
        assert.equal(answer.status, 404, JSON.stringify(answer.body));
      }
    });
  }
}
