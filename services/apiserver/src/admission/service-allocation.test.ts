import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { createIds, createSeededRandom } from '@holdfast/platform';
import { addressRange, addressText, valuesFrom } from '../allocation/ranges.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

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

test('the API service has the first address of the network from the start', async () => {
  const found = await api.call('GET', `${SERVICES}/kubernetes`);
  assert.deepEqual(
    [found.at('spec.clusterIP'), found.at('spec.clusterIPs'), found.at('spec.ipFamilies')],
    ['10.96.0.1', ['10.96.0.1'], ['IPv4']],
  );
});

test('a service gets its own address and releases it when it is deleted', async () => {
  const created = await create('a');
  const address = created.textAt('spec.clusterIP');
  assert.match(address, /^10\.96\.0\.\d+$/);
  assert.deepEqual([created.at('spec.clusterIPs'), created.at('spec.ipFamilyPolicy')], [[address], 'SingleStack']);
  assert.deepEqual(await claims(), ['10.96.0.1', address]);
  assert.equal((await api.call('DELETE', `${SERVICES}/a`)).status, 200);
  assert.deepEqual(await claims(), ['10.96.0.1']);
  assert.equal((await create('b', { clusterIP: address })).status, 201);
});

test('two services never have the same address, also over two API servers with equal random choices', async () => {
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

test('without a free address the next service is refused and leaves no allocation', async () => {
  for (let n = 1; n <= 13; n++) assert.equal((await create(`s${n}`)).status, 201);
  const refused = await create('more');
  assert.equal(refused.status, 500);
  assert.equal(refused.textAt('message'), 'Internal error occurred: failed to allocate a serviceIP: range is full');
  assert.equal((await claims()).length, 14);
});

test('a requested address must be free and inside the network', async () => {
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

test('a failed create and a dry run leave no allocation', async () => {
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

test('headless and external services allocate nothing', async () => {
  const headless = await create('h', { clusterIP: 'None', selector: { app: 'x' } });
  assert.deepEqual([headless.at('spec.clusterIPs'), headless.at('spec.ipFamilies')], [['None'], ['IPv4']]);
  const external = await create('e', { type: 'ExternalName', externalName: 'example.com' });
  assert.deepEqual([external.status, external.at('spec.clusterIP')], [201, undefined]);
  assert.deepEqual(await claims(), ['10.96.0.1']);
});

test('an external service allocates no node port, whatever its spec contains', async () => {
  const ports = [{ port: 80, nodePort: 30_080 }];
  assert.equal((await create('e', { type: 'ExternalName', externalName: 'a.b', ports })).status, 201);
  assert.deepEqual(await claims(), ['10.96.0.1']);
  assert.equal((await create('n', { type: 'NodePort', ports })).status, 201);
  const turned = await api.call('PATCH', `${SERVICES}/e`, { body: { spec: { type: 'NodePort' } } });
  assert.match(turned.textAt('message'), /nodePort: Invalid value: 30080: provided port is already allocated$/);
});

test('a node port that an external service once allocated is released with it', async () => {
  await create('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_101 }] });
  const [stored] = (await api.store.list('core/services/default/a')).objects;
  assert.ok(stored);
  const value = stored.value.replace('"type":"NodePort"', '"type":"ExternalName","externalName":"a.b"');
  await api.store.write([{ kind: 'update', key: stored.key, value, expectedRevision: stored.revision }]);
  await api.call('DELETE', `${SERVICES}/a`);
  assert.ok(!(await claims()).includes('30101'));
});

test('the type of a service determines its allocations', async () => {
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

/** Checks the refusal of each create. */
async function checkRefusals(cases: readonly (readonly [spec: object, status: number, message: string])[]) {
  for (const [spec, status, message] of cases) {
    const refused = await create('r', spec);
    assert.deepEqual([refused.status, refused.textAt('message')], [status, message], JSON.stringify(spec));
  }
}

const WHEN_SEVERAL = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
const NOT_CONFIGURED = 'not configured on this cluster';

test('addresses outside the families of the cluster cause the messages of Kubernetes', () =>
  checkRefusals([
    [
      { ipFamilies: ['IPv4', 'IPv6'] },
      422,
      `Service "r" is invalid: spec.ipFamilyPolicy: Invalid value: "SingleStack": ${WHEN_SEVERAL} IP families are specified`,
    ],
    [
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
      422,
      `Service "r" is invalid: spec.ipFamilies[1]: Invalid value: "IPv6": ${NOT_CONFIGURED}`,
    ],
    [
      { ipFamilies: ['IPv6'], ipFamilyPolicy: 'RequireDualStack' },
      422,
      `Service "r" is invalid: [spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services, spec.ipFamilies[0]: Invalid value: "IPv6": ${NOT_CONFIGURED}]`,
    ],
    [
      { clusterIP: '10.96.0.5', clusterIPs: ['10.96.0.5', '2001:db8::1'] },
      422,
      `Service "r" is invalid: [spec.ipFamilyPolicy: Invalid value: "SingleStack": ${WHEN_SEVERAL} cluster IPs are specified, spec.clusterIPs[1]: Invalid value: []string{"10.96.0.5", "2001:db8::1"}: IPv6 is ${NOT_CONFIGURED}]`,
    ],
    [
      { clusterIP: '2001:db8::1', ipFamilies: ['IPv6'] },
      422,
      `Service "r" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": ${NOT_CONFIGURED}`,
    ],
  ]));

test('an allocation error of a service is reported alone, before all other errors', () =>
  checkRefusals([
    [
      { ports: [], clusterIP: 'x' },
      422,
      'Service "r" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      { ports: [], clusterIP: '10.1.0.1', sessionAffinity: 'x' },
      422,
      'Service "r" is invalid: spec.clusterIPs: Invalid value: []string{"10.1.0.1"}: failed to allocate IP 10.1.0.1: the provided IP (10.1.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/28',
    ],
    [
      { type: 'NodePort', ports: [{ port: 0, nodePort: 80 }] },
      422,
      'Service "r" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ],
  ]));

test('a headless service without a selector may use both families', async () => {
  const families = async (name: string, spec: object): Promise<unknown> => {
    const made = await create(name, { clusterIP: 'None', ...spec });
    return [made.at('spec.ipFamilyPolicy'), made.at('spec.ipFamilies')];
  };
  assert.deepEqual(await families('a', {}), ['RequireDualStack', ['IPv4', 'IPv6']]);
  assert.deepEqual(await families('b', { ipFamilies: ['IPv6'] }), ['RequireDualStack', ['IPv6', 'IPv4']]);
  assert.deepEqual(await families('c', { ipFamilyPolicy: 'SingleStack' }), ['SingleStack', ['IPv4']]);
  const change = (spec: object): Promise<Answer> => api.call('PATCH', `${SERVICES}/b`, { body: { spec } });
  assert.equal(
    (await change({ ipFamilies: ['IPv6'] })).textAt('message'),
    `Service "b" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be 'SingleStack' to release the secondary IP family`,
  );
  assert.deepEqual((await change({ ipFamilyPolicy: 'SingleStack' })).at('spec.ipFamilies'), ['IPv6']);
});

test('one port number over two protocols shares one node port, also when only the later one requests it', async () => {
  const ports = [
    { name: 'a', port: 53 },
    { name: 'b', port: 53, protocol: 'UDP', nodePort: 30_053 },
  ];
  const made = await create('a', { type: 'NodePort', ports });
  assert.deepEqual([made.at('spec.ports.0.nodePort'), made.at('spec.ports.1.nodePort')], [30_053, 30_053]);
});

test('a node port is requested once', async () => {
  const ports = [
    { name: 'a', port: 80, nodePort: 30_080 },
    { name: 'b', port: 81, protocol: 'UDP', nodePort: 30_080 },
  ];
  const health = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_080 };
  const failure = 'Internal error occurred: failed to allocate requested HealthCheck NodePort';
  await checkRefusals([
    [
      { type: 'NodePort', ports },
      422,
      'Service "r" is invalid: spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [{ ...health, ports: ports.slice(0, 1) }, 500, `${failure} 30080: provided port is already allocated`],
    [
      { ...health, healthCheckNodePort: 80 },
      500,
      `${failure} 80: provided port is not in the valid range. The range of valid ports is 30000-32767`,
    ],
  ]);
  assert.equal((await create('a', { type: 'NodePort', ports: ports.slice(0, 1) })).status, 201);
  const taken = await create('r', health);
  assert.deepEqual(
    [taken.textAt('reason'), taken.textAt('message')],
    ['InternalError', `${failure} 30080: provided port is already allocated`],
  );
  const change = (spec: object): Promise<Answer> => api.call('PATCH', `${SERVICES}/a`, { body: { spec } });
  assert.equal((await change({ ports })).status, 200);
  const twice = await change({ ports: ports.map((port) => ({ ...port, protocol: 'TCP' })) });
  assert.deepEqual([twice.status, twice.textAt('message')], [500, 'duplicate nodePort: {TCP 30080}']);
});

test('a dry run with a port in use is refused', async () => {
  const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] };
  assert.equal((await create('a', spec)).status, 201);
  assert.equal((await create('b', { ports: [{ port: 80 }] })).status, 201);
  const message = (name: string): string =>
    `Service "${name}" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`;
  const body = { metadata: { name: 'c' }, spec };
  assert.equal((await api.call('POST', `${SERVICES}?dryRun=All`, { body })).textAt('message'), message('c'));
  const changed = await api.call('PATCH', `${SERVICES}/b?dryRun=All`, { body: { spec } });
  assert.equal(changed.textAt('message'), message('b'));
  assert.equal((await api.call('PATCH', `${SERVICES}/a?dryRun=All`, { body: { spec } })).status, 200);
});

test('the lower end of a range is used last', () => {
  const range = addressRange('10.96.0.0/24');
  assert.deepEqual(
    [addressText(range.first), addressText(range.last), range.reserved],
    ['10.96.0.1', '10.96.0.254', 16],
  );
  const values = [...valuesFrom(range, 5)];
  assert.deepEqual([values[0], values.at(-16), values.at(-1)], [range.first + 16 + 5, range.first, range.first + 15]);
  assert.deepEqual(new Set(values).size, range.last - range.first + 1);
});

test('each port of a service gets a node port of its own, in one walk', async () => {
  const ports = [80, 81, 82].map((port) => ({ name: `p${port}`, port }));
  const made = await api.call('POST', SERVICES, {
    body: { metadata: { name: 'many' }, spec: { type: 'NodePort', ports } },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const given = (made.at('spec.ports') as readonly { nodePort: number }[]).map(({ nodePort }) => nodePort);
  assert.equal(new Set(given).size, 3);
});

test('every write of a service allocates: PUT, patch and apply', async () => {
  const address = (await create('a')).textAt('spec.clusterIP');
  const current = (await api.call('GET', `${SERVICES}/a`)).body as { readonly spec: object };
  const put = await api.call('PUT', `${SERVICES}/a`, {
    body: { ...current, spec: { ...current.spec, type: 'NodePort' } },
  });
  const port = String(put.at('spec.ports.0.nodePort'));
  assert.deepEqual(await claims(), ['10.96.0.1', address, port]);
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const body = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'b' },
    spec: { type: 'NodePort', ports: [{ port: 80 }] },
  };
  const applied = await api.call('PATCH', `${SERVICES}/b?fieldManager=m`, { headers, body });
  assert.equal(applied.status, 201, applied.textAt('message'));
  const given = [applied.textAt('spec.clusterIP'), String(applied.at('spec.ports.0.nodePort'))];
  assert.deepEqual(new Set(await claims()), new Set(['10.96.0.1', address, port, ...given]));
  const other = { ...body, spec: { ...body.spec, type: 'ClusterIP' } };
  assert.equal((await api.call('PATCH', `${SERVICES}/b?fieldManager=m`, { headers, body: other })).status, 200);
  assert.deepEqual(new Set(await claims()), new Set(['10.96.0.1', address, port, given[0]]));
});

test('deletecollection releases all allocations of its services', async () => {
  const isMine = { metadata: { labels: { app: 'x' } } };
  for (const name of ['a', 'b', 'c']) {
    assert.equal((await create(name, { type: 'NodePort' })).status, 201);
    await api.call('PATCH', `${SERVICES}/${name}`, { body: isMine });
  }
  assert.equal((await claims()).length, 7);
  const dry = await api.call('DELETE', `${SERVICES}?labelSelector=app%3Dx&dryRun=All`);
  assert.deepEqual([dry.status, (await claims()).length], [200, 7]);
  assert.equal((await api.call('DELETE', `${SERVICES}?labelSelector=app%3Dx`)).status, 200);
  assert.deepEqual(await claims(), ['10.96.0.1']);
});

test('a finalizer keeps the allocations of a deleted service until it is removed', async () => {
  const address = (await create('a')).textAt('spec.clusterIP');
  const finalizers = (names: readonly string[] | null): Promise<Answer> =>
    api.call('PATCH', `${SERVICES}/a`, { body: { metadata: { finalizers: names } } });
  await finalizers(['example.com/f']);
  assert.equal((await api.call('DELETE', `${SERVICES}/a`)).status, 200);
  assert.deepEqual(await claims(), ['10.96.0.1', address]);
  assert.equal((await finalizers(null)).status, 200);
  assert.equal((await api.call('GET', `${SERVICES}/a`)).status, 404);
  assert.deepEqual(await claims(), ['10.96.0.1']);
});

test('an update that loses against another writer leaves no allocation', async () => {
  const created = await create('a');
  const before = await claims();
  const body = created.body as { readonly spec: object };
  assert.equal((await api.call('PATCH', `${SERVICES}/a`, { body: { metadata: { labels: { a: 'b' } } } })).status, 200);
  const stale = { ...body, spec: { ...body.spec, type: 'NodePort' } };
  assert.equal((await api.call('PUT', `${SERVICES}/a`, { body: stale })).status, 409);
  assert.deepEqual(await claims(), before);
});

test('quota usage and service addresses are committed in one write', async () => {
  const quotas = '/api/v1/namespaces/default/resourcequotas';
  const hard = { 'services.nodeports': '1' };
  const quota = await api.call('POST', quotas, { body: { metadata: { name: 'q' }, spec: { hard } } });
  const status = { hard, used: { 'services.nodeports': '0' } };
  await api.call('PUT', `${quotas}/q/status`, { body: { ...(quota.body as object), status } });
  await api.call('GET', quotas);
  const writes: number[] = [];
  const write = api.store.write.bind(api.store);
  api.store.write = (operations, options) => {
    writes.push(operations.length);
    return write(operations, options);
  };
  assert.equal((await create('a', { type: 'NodePort' })).status, 201);
  assert.deepEqual(writes, [4], 'the service, its address, its port, the quota');
  const held = await claims();
  const refused = await create('b', { type: 'NodePort' });
  assert.equal(refused.status, 403, refused.textAt('message'));
  assert.deepEqual(await claims(), held);
  const dry = { metadata: { name: 'c' }, spec: { ports: [{ port: 80 }] } };
  assert.equal((await api.call('POST', `${SERVICES}?dryRun=All`, { body: dry })).status, 201);
  assert.deepEqual((await api.call('GET', `${quotas}/q`)).at('status.used'), { 'services.nodeports': '1' });
});
