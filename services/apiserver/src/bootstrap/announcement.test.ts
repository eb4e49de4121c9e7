import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { startTestApi } from '../testing/fixture.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints/kubernetes';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

test('the service kubernetes points to the advertised address, in endpoints and slice, and to the new one after a move', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const shown = async () => {
    const endpoints = await api.call('GET', ENDPOINTS);
    const slices = await api.call('GET', `${SLICES}?labelSelector=kubernetes.io/service-name%3Dkubernetes`);
    assert.deepEqual(slices.names(), ['kubernetes']);
    return [
      [endpoints.at('subsets.0.addresses.0.ip'), endpoints.at('subsets.0.ports.0.port')],
      [slices.at('items.0.endpoints.0.addresses.0'), slices.at('items.0.ports.0.port')],
    ];
  };
  await api.server.announce({ ip: '192.0.2.7', port: 6443 });
  assert.deepEqual(await shown(), [
    ['192.0.2.7', 6443],
    ['192.0.2.7', 6443],
  ]);
  await api.server.announce({ ip: '192.0.2.8', port: 7443 });
  assert.deepEqual(await shown(), [
    ['192.0.2.8', 7443],
    ['192.0.2.8', 7443],
  ]);
  const revision = (await api.call('GET', ENDPOINTS)).at('metadata.resourceVersion');
  await api.server.announce({ ip: '192.0.2.8', port: 7443 });
  assert.equal((await api.call('GET', ENDPOINTS)).at('metadata.resourceVersion'), revision, 'nothing new was written');
});
