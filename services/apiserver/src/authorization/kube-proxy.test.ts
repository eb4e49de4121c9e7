import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApi } from '../testing/fixture.ts';
import { callInProtobuf, PROTOBUF } from '../testing/protobuf.ts';

/** What kube-proxy 1.32 asks for: it leaves out headless services, and those that another proxy routes. */
const SELECTION = 'labelSelector=%21service.kubernetes.io%2Fheadless%2C%21service.kubernetes.io%2Fservice-proxy-name';
const SERVICES = `/api/v1/services?${SELECTION}`;
const SLICES = `/apis/discovery.k8s.io/v1/endpointslices?${SELECTION}`;
const NODE = '/api/v1/nodes?fieldSelector=metadata.name%3Done';
const WATCHING = 'allowWatchBookmarks=true&timeoutSeconds=300&watch=true';

const PROXY = { name: 'system:kube-proxy', groups: ['system:authenticated'] };
const ADMIN = { name: 'admin', groups: ['system:masters'] };

const serviceBody = (name: string, labels: Readonly<Record<string, string>> = {}): unknown => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, labels },
  spec: { ports: [{ port: 80 }] },
});

const sliceBody = (name: string, labels: Readonly<Record<string, string>> = {}): unknown => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, labels },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.244.0.2'] }],
  ports: [{ port: 80 }],
});

async function open() {
  const api = await startTestApi({
    tokens: new Map([
      ['admin', ADMIN],
      ['proxy', PROXY],
    ]),
  });
  const create = (path: string, body: unknown) => api.call('POST', path, { body });
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  for (const name of ['one', 'two'])
    await create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const services = '/api/v1/namespaces/shop/services';
  await create(services, serviceBody('web'));
  await create(services, serviceBody('routed', { 'service.kubernetes.io/service-proxy-name': 'other' }));
  const slices = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';
  await create(slices, sliceBody('web-1'));
  await create(slices, sliceBody('store-1', { 'service.kubernetes.io/headless': '' }));
  return api;
}

test('kube-proxy lists and watches what it routes, with the rights of its role', async () => {
  const api = await open();
  for (const [url, names] of [
    [SERVICES, ['web']],
    [SLICES, ['web-1']],
    [NODE, ['one']],
  ] as const) {
    const plain = await api.call('GET', url, { as: 'proxy' });
    assert.deepEqual([plain.status, plain.names().filter((name) => name !== 'kubernetes')], [200, names], url);
    const list = await callInProtobuf(api, 'GET', `${url}&limit=500&resourceVersion=0`, { as: 'proxy' });
    assert.deepEqual([list.status, list.type], [200, PROTOBUF], url);
    const since = plain.textAt('metadata.resourceVersion');
    const watched = api.watch(`${url}&${WATCHING}&resourceVersion=${since}`, 2, { as: 'proxy' });
    // A bookmark may come first.
    for (const seen of ['once', 'twice'])
      await api.call('PATCH', pathOf(url, names[0]), { body: { metadata: { annotations: { seen } } } });
    const types = (await watched).map(({ type }) => type);
    assert.ok(types.includes('MODIFIED') && !types.includes('ERROR'), `${url}: ${types.join()}`);
  }
  await api.stop();
});

const pathOf = (url: string, name: string): string => {
  const [path = ''] = url.split('?');
  return path === '/api/v1/nodes' ? `${path}/${name}` : path.replace(/\/(\w+)$/, `/namespaces/shop/$1/${name}`);
};

test('kube-proxy writes events of its node, and nothing else', async () => {
  const api = await open();
  const event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'one.1', namespace: 'default' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'kube-proxy',
    reportingInstance: 'kube-proxy-one',
    action: 'StartKubeProxy',
    reason: 'Starting',
    regarding: { kind: 'Node', name: 'one' },
    type: 'Normal',
  };
  const path = '/apis/events.k8s.io/v1/namespaces/default/events';
  assert.equal((await api.call('POST', path, { as: 'proxy', body: event })).status, 201);
  const services = '/api/v1/namespaces/shop/services';
  assert.equal((await api.call('POST', services, { as: 'proxy', body: serviceBody('own') })).status, 403);
  assert.equal((await api.call('GET', '/api/v1/secrets', { as: 'proxy' })).status, 403);
  await api.stop();
});
