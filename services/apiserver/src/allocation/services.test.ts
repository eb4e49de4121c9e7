import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { createIds, createSeededRandom } from '@holdfast/platform';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';
import { addressRange, addressText, pickFree } from './ranges.ts';

const SERVICES = '/api/v1/namespaces/default/services';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ serviceNetwork: '10.96.0.0/28' });
});
afterEach(() => api.stop());

const create = (name: string, spec: object = {}, via = api): Promise<Answer> =>
  via.call('POST', SERVICES, { body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } } });
const claims = async (): Promise<readonly string[]> =>
  (await api.store.list('internal.holdfast/')).objects.map(({ key }) => key.split('/').at(-1) ?? '');

test('the API has the first address of the network, from the start', async () => {
  const found = await api.call('GET', `${SERVICES}/kubernetes`);
  assert.deepEqual(
    [found.at('spec.clusterIP'), found.at('spec.clusterIPs'), found.at('spec.ipFamilies')],
    ['10.96.0.1', ['10.96.0.1'], ['IPv4']],
  );
});

test('a service gets an address of its own and gives it back when it goes', async () => {
  const created = await create('a');
  const address = created.textAt('spec.clusterIP');
  assert.match(address, /^10\.96\.0\.\d+$/);
  assert.deepEqual([created.at('spec.clusterIPs'), created.at('spec.ipFamilyPolicy')], [[address], 'SingleStack']);
  assert.deepEqual(await claims(), ['10.96.0.1', address]);
  assert.equal((await api.call('DELETE', `${SERVICES}/a`)).status, 200);
  assert.deepEqual(await claims(), ['10.96.0.1']);
  assert.equal((await create('b', { clusterIP: address })).status, 201);
});

test('two services never have the same address, also over two apiservers that pick alike', async () => {
  const ids = (): ReturnType<typeof createIds> => createIds(createSeededRandom(7, 'ids'));
  const one = await startTestApi({ store: api.store, ids: ids(), serviceNetwork: '10.96.0.0/28' });
  const two = await startTestApi({ store: api.store, ids: ids(), serviceNetwork: '10.96.0.0/28' });
  const made = await Promise.all(
    [1, 2, 3, 4, 5, 6].flatMap((n) => [create(`a${n}`, {}, one), create(`b${n}`, {}, two)]),
  );
  assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]));
  assert.equal(new Set(made.map((each) => each.textAt('spec.clusterIP'))).size, 12);
  await one.server.stop();
  await two.server.stop();
});

test('when all addresses are taken the next service is refused and leaves nothing behind', async () => {
  for (let n = 1; n <= 13; n++) assert.equal((await create(`s${n}`)).status, 201);
  const refused = await create('more');
  assert.equal(refused.status, 500);
  assert.equal(refused.textAt('message'), 'Internal error occurred: failed to allocate a serviceIP: range is full');
  assert.equal((await claims()).length, 14);
});

test('an address that is named must be free and of the network', async () => {
  const taken = await create('a', { clusterIP: '10.96.0.1' });
  assert.deepEqual(
    [taken.status, taken.textAt('message')],
    [
      422,
      'Service "a" is invalid: spec.clusterIPs: Invalid value: []string{"10.96.0.1"}: failed to allocate IP 10.96.0.1: provided IP is already allocated',
    ],
  );
  const outside = await create('a', { clusterIP: '10.1.0.1' });
  assert.match(
    outside.textAt('message'),
    /failed to allocate IP 10\.1\.0\.1: the provided IP \(10\.1\.0\.1\) is not in the valid range\. The range of valid IPs is 10\.96\.0\.0\/28$/,
  );
  assert.deepEqual(await claims(), ['10.96.0.1']);
});

test('a create that fails leaves no claim behind; nor does a dry run', async () => {
  await create('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] });
  const before = await claims();
  assert.equal((await create('a')).status, 409);
  const refused = await create('b', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] });
  assert.deepEqual(
    [refused.status, refused.textAt('message')],
    [422, 'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated'],
  );
  const body = { metadata: { name: 'dry' }, spec: { ports: [{ port: 80 }] } };
  const dry = await api.call('POST', `${SERVICES}?dryRun=All`, { body });
  assert.match(dry.textAt('spec.clusterIP'), /^10\.96/);
  assert.deepEqual(await claims(), before);
});

test('headless and external services hold nothing', async () => {
  const headless = await create('h', { clusterIP: 'None', selector: { app: 'x' } });
  assert.deepEqual([headless.at('spec.clusterIPs'), headless.at('spec.ipFamilies')], [['None'], ['IPv4']]);
  const external = await create('e', { type: 'ExternalName', externalName: 'example.com' });
  assert.deepEqual([external.status, external.at('spec.clusterIP')], [201, undefined]);
  assert.deepEqual(await claims(), ['10.96.0.1']);
});

test('what a service holds follows its type', async () => {
  const address = (await create('a')).textAt('spec.clusterIP');
  const patch = (spec: object): Promise<Answer> => api.call('PATCH', `${SERVICES}/a`, { body: { spec } });
  const ports = [
    { port: 53, protocol: 'TCP', name: 't' },
    { port: 53, protocol: 'UDP', name: 'u' },
  ];
  const opened = await patch({ type: 'NodePort', ports });
  const port = opened.at('spec.ports.0.nodePort');
  assert.ok(typeof port === 'number' && port >= 30_086 && port <= 32_767);
  assert.deepEqual([opened.at('spec.ports.1.nodePort'), opened.at('spec.clusterIP')], [port, address]);
  assert.deepEqual(await claims(), ['10.96.0.1', address, String(port)]);
  assert.equal((await patch({ type: 'ClusterIP' })).at('spec.ports.0.nodePort'), undefined);
  assert.deepEqual(await claims(), ['10.96.0.1', address]);
  assert.equal((await patch({ type: 'ExternalName', externalName: 'example.com' })).status, 200);
  assert.deepEqual(await claims(), ['10.96.0.1']);
  assert.match((await patch({ type: 'ClusterIP', externalName: null })).textAt('spec.clusterIP'), /^10\.96/);
});

test('a balanced service with local traffic gets a port for health checks', async () => {
  const made = await create('l', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
  assert.equal(made.status, 201, made.textAt('message'));
  const health = made.at('spec.healthCheckNodePort');
  assert.ok(typeof health === 'number' && health !== made.at('spec.ports.0.nodePort'));
  assert.equal((await claims()).length, 4);
});

test('a second family is refused: the cluster has one', async () => {
  const refused = await create('a', { ipFamilyPolicy: 'RequireDualStack' });
  assert.equal(refused.status, 422);
  assert.match(refused.textAt('message'), /"RequireDualStack": this cluster is not configured for dual-stack services/);
  assert.deepEqual((await create('p', { ipFamilyPolicy: 'PreferDualStack' })).at('spec.ipFamilies'), ['IPv4']);
});

test('the lower end of a range is used last', () => {
  const range = addressRange('10.96.0.0/24');
  assert.deepEqual(
    [addressText(range.first), addressText(range.last), range.reserved],
    ['10.96.0.1', '10.96.0.254', 16],
  );
  assert.equal(
    pickFree(range, 0, () => false),
    range.first + 16,
  );
  assert.equal(
    pickFree(range, 5, (value) => value >= range.first + 16),
    range.first,
  );
  assert.equal(
    pickFree(range, 5, () => true),
    undefined,
  );
});
