import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { configMapBody, podBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

describe('request pipeline', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  test('a created object gets uid, creation time and resourceVersion, and reads back the same', async () => {
    const created = await api.call('POST', CONFIG_MAPS, { body: configMapBody('plain', { k: 'v' }) });
    assert.equal(created.status, 201);
    assert.match(created.textAt('metadata.uid'), /^[0-9a-f-]{36}$/);
    const read = await api.call('GET', `${CONFIG_MAPS}/plain`);
    assert.deepEqual(read.body, created.body);
    assert.deepEqual(read.raw.body.kind === 'json' && read.raw.body.value(), read.body);
  });

  const refusals = [
    ['a name that is taken is 409 AlreadyExists', 'POST', CONFIG_MAPS, configMapBody('plain'), 409, 'AlreadyExists'],
    ['an unknown object is 404', 'GET', `${CONFIG_MAPS}/nope`, undefined, 404, 'NotFound'],
    ['an unknown resource is 404', 'GET', '/api/v1/nonsense', undefined, 404, 'NotFound'],
    ['PUT of a collection is 405', 'PUT', CONFIG_MAPS, configMapBody('x'), 405, 'MethodNotAllowed'],
    ['a missing namespace is 404', 'POST', '/api/v1/namespaces/no/configmaps', configMapBody('x'), 404, 'NotFound'],
    ['broken JSON is 400', 'POST', CONFIG_MAPS, '{"apiVersion":', 400, 'BadRequest'],
    ['another kind is 400', 'POST', CONFIG_MAPS, { apiVersion: 'v1', kind: 'Secret', metadata: {} }, 400, 'BadRequest'],
    ['a wrong field type is 400', 'POST', CONFIG_MAPS, { metadata: { name: 'x' }, data: { k: 5 } }, 400, 'BadRequest'],
    ['a bad name is 422', 'POST', CONFIG_MAPS, configMapBody('Bad_Name'), 422, 'Invalid'],
    ['a JSON text that is no object is 400', 'POST', CONFIG_MAPS, '[1]', 400, 'BadRequest'],
    ['nesting without end is 400', 'POST', CONFIG_MAPS, `${'['.repeat(5000)}${']'.repeat(5000)}`, 400, 'BadRequest'],
    [
      'a body over the limit is 413',
      'POST',
      CONFIG_MAPS,
      'x'.repeat(3 * 1024 * 1024 + 1),
      413,
      'RequestEntityTooLarge',
    ],
    [
      'an object of more bytes than may be stored is 413, however few characters they are',
      'POST',
      '/api/v1/namespaces/default/podtemplates',
      {
        metadata: { name: 'x' },
        template: { spec: { containers: [{ name: 'c', image: 'i', args: ['ä'.repeat(900_000)] }] } },
      },
      413,
      'RequestEntityTooLarge',
    ],
  ] as const;
  for (const [title, method, url, body, status, reason] of refusals) {
    test(`${title}`, async () => {
      const answer = await api.call(method, url, { body });
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.equal(answer.at('reason'), reason);
    });
  }

  test('a review has no columns: a client that accepts only tables gets 406', async () => {
    const ask = (accept: string) =>
      api.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        headers: { accept },
        body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
      });
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const refused = await ask(table);
    assert.deepEqual([refused.status, refused.at('reason')], [406, 'NotAcceptable']);
    const answered = await ask(`${table},application/json`);
    assert.deepEqual([answered.status, answered.at('kind')], [201, 'SelfSubjectAccessReview']);
  });

  test('strict decoding reports unknown and duplicate fields in document order', async () => {
    const body = '{"metadata":{"name":"strict"},"bogus":1,"bogus":2,"data":{"a":"1","a":"2"},"more":1}';
    const refused = await api.call('POST', `${CONFIG_MAPS}?fieldValidation=Strict`, { body });
    assert.match(
      refused.textAt('message'),
      /strict decoding error: unknown field "bogus", duplicate field "data.a", unknown field "more"$/,
    );
  });

  test('a stale resourceVersion is 409 Conflict and changes nothing', async () => {
    const first = await api.call('POST', CONFIG_MAPS, { body: configMapBody('cas', { n: '1' }) });
    await api.call('PATCH', `${CONFIG_MAPS}/cas`, { body: { data: { n: '2' } } });
    const stale = await api.call('PUT', `${CONFIG_MAPS}/cas`, { body: first.body });
    assert.deepEqual([stale.status, stale.at('reason')], [409, 'Conflict']);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/cas`)).at('data.n'), '2');
  });

  test('an update that changes nothing takes no revision', async () => {
    const created = await api.call('POST', CONFIG_MAPS, { body: configMapBody('same', { a: '1', b: '2' }) });
    const put = await api.call('PUT', `${CONFIG_MAPS}/same`, { body: configMapBody('same', { b: '2', a: '1' }) });
    assert.equal(put.at('metadata.resourceVersion'), created.at('metadata.resourceVersion'));
  });

  test('concurrent patches without a precondition are all applied', async () => {
    await api.call('POST', CONFIG_MAPS, { body: configMapBody('race') });
    const keys = Array.from({ length: 8 }, (_, i) => `k${i}`);
    const answers = await Promise.all(
      keys.map((key) => api.call('PATCH', `${CONFIG_MAPS}/race`, { body: { data: { [key]: 'x' } } })),
    );
    assert.deepEqual([...new Set(answers.map((each) => each.status))], [200]);
    assert.deepEqual(Object.keys((await api.call('GET', `${CONFIG_MAPS}/race`)).at('data') ?? {}).toSorted(), keys);
  });

  test('JSON and strategic patches apply; an unknown patch type is 415', async () => {
    await api.call('POST', PODS, { body: podBody('patched') });
    const type = (name: string) => ({ 'content-type': `application/${name}` });
    const json = await api.call('PATCH', `${PODS}/patched`, {
      headers: type('json-patch+json'),
      body: [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }],
    });
    assert.equal(json.at('metadata.labels.a'), 'b');
    const strategic = await api.call('PATCH', `${PODS}/patched`, {
      headers: type('strategic-merge-patch+json'),
      body: { spec: { containers: [{ name: 'c', image: 'busybox:1.37' }] } },
    });
    assert.equal(strategic.at('spec.containers.0.image'), 'busybox:1.37');
    assert.equal(strategic.at('spec.containers.0.imagePullPolicy'), 'IfNotPresent');
    assert.equal((await api.call('PATCH', `${PODS}/patched`, { headers: type('xml'), body: {} })).status, 415);
  });

  test('generateName makes a name of five safe characters', async () => {
    const body = { metadata: { generateName: 'gen-' } };
    const created = await api.call('POST', CONFIG_MAPS, { body });
    assert.match(created.textAt('metadata.name'), /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test('a dry run answers like the real request and stores nothing', async () => {
    const answer = await api.call('POST', `${CONFIG_MAPS}?dryRun=All`, { body: configMapBody('dry') });
    assert.equal(answer.status, 201);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/dry`)).status, 404);
  });

  test('unknown fields cause a warning by default, an error when strict, and nothing when ignored', async () => {
    const body = { metadata: { name: 'unknown' }, bogus: 1 };
    const warned = await api.call('POST', `${CONFIG_MAPS}?dryRun=All`, { body });
    assert.equal(warned.headers['warning'], '299 - "unknown field \\"bogus\\""');
    assert.equal((await api.call('POST', `${CONFIG_MAPS}?fieldValidation=Strict`, { body })).status, 400);
    const ignored = await api.call('POST', `${CONFIG_MAPS}?fieldValidation=Ignore`, { body });
    assert.deepEqual([ignored.status, ignored.headers['warning']], [201, undefined]);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/unknown`)).at('bogus'), undefined);
  });

  test('a key named __proto__ is data and changes no prototype', async () => {
    const body = '{"metadata":{"name":"proto"},"data":{"__proto__":"x"}}';
    assert.equal((await api.call('POST', CONFIG_MAPS, { body })).status, 201);
    const read = await api.call('GET', `${CONFIG_MAPS}/proto`);
    assert.ok(Object.hasOwn(read.at('data') ?? {}, '__proto__'));
    assert.equal(({} as Record<string, unknown>)['x'], undefined);
  });

  test('a YAML body is accepted', async () => {
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: b}\n';
    const answer = await api.call('POST', CONFIG_MAPS, { body, headers: { 'content-type': 'application/yaml' } });
    assert.equal(answer.at('data.a'), 'b');
  });

  test('an object in a terminating namespace is refused with the cause NamespaceTerminating', async () => {
    const body = { metadata: { name: 'dying' } };
    await api.call('POST', '/api/v1/namespaces', { body });
    await api.call('DELETE', '/api/v1/namespaces/dying');
    const answer = await api.call('POST', '/api/v1/namespaces/dying/configmaps', { body: configMapBody('x') });
    assert.equal(answer.status, 403, JSON.stringify(answer.body));
    assert.equal(answer.at('details.causes.0.reason'), 'NamespaceTerminating');
  });

  test('[SAFE-27] pods tolerate lost nodes for 300 s unless they set their own tolerations', async () => {
    const plain = await api.call('POST', PODS, { body: podBody('tolerant') });
    for (const [i, key] of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].entries()) {
      const expected = { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
      assert.deepEqual(plain.at(`spec.tolerations.${i}`), expected);
    }
    const own = [{ operator: 'Exists', effect: 'NoExecute' }];
    const kept = await api.call('POST', PODS, { body: podBody('own', { spec: { tolerations: own } }) });
    assert.deepEqual(kept.at('spec.tolerations'), own);
  });

  test('scale reads and writes the replicas of a Deployment', async () => {
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { metadata: { name: 'web' }, spec: { replicas: 2, selector: { matchLabels: labels }, template } };
    const url = '/apis/apps/v1/namespaces/default/deployments';
    assert.equal((await api.call('POST', url, { body })).status, 201);
    const before = await api.call('GET', `${url}/web/scale`);
    assert.deepEqual([before.at('spec.replicas'), before.at('status.selector')], [2, 'app=web']);
    await api.call('PATCH', `${url}/web/scale`, { body: { spec: { replicas: 5 } } });
    const scaled = await api.call('GET', `${url}/web`);
    assert.deepEqual([scaled.at('spec.replicas'), scaled.at('metadata.generation')], [5, 2]);
    assert.equal((await api.call('PATCH', `${url}/web/scale`, { body: { spec: { replicas: -1 } } })).status, 422);
  });

  test('an annotation change of a Deployment increments the generation, except with a status update', async () => {
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { metadata: { name: 'noted' }, spec: { selector: { matchLabels: labels }, template } };
    const url = '/apis/apps/v1/namespaces/default/deployments';
    assert.equal((await api.call('POST', url, { body })).status, 201);
    const annotate = (key: string, subresource = '') =>
      api.call('PATCH', `${url}/noted${subresource}`, { body: { metadata: { annotations: { [key]: 'x' } } } });
    assert.equal((await annotate('a', '/status')).at('metadata.generation'), 1);
    const noted = await annotate('b');
    assert.deepEqual([noted.at('metadata.annotations'), noted.at('metadata.generation')], [{ a: 'x', b: 'x' }, 2]);
    assert.equal((await annotate('b')).at('metadata.generation'), 2);
  });
});

describe('permissions', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const cases = [
    ['anybody reads the version', 'anonymous', 'GET', '/version', 200],
    ['anybody asks for health', 'anonymous', 'GET', '/readyz', 200],
    ['a request without credentials reads no objects', 'anonymous', 'GET', PODS, 403],
    ['a wrong token is 401', 'wrong', 'GET', PODS, 401],
    ['a user without rights reads no objects', 'nobody', 'GET', PODS, 403],
    ['every user may discover', 'nobody', 'GET', '/apis', 200],
    ['the scheduler reads pods', 'scheduler', 'GET', PODS, 200],
    ['the scheduler reads no secrets', 'scheduler', 'GET', '/api/v1/secrets', 403],
    ['a kubelet does not create deployments', 'node-a', 'POST', '/apis/apps/v1/namespaces/default/deployments', 403],
  ] as const;
  for (const [title, as, method, url, status] of cases) {
    test(`${title}: ${status}`, async () => {
      assert.equal((await api.call(method, url, { as, ...(method === 'POST' ? { body: {} } : {}) })).status, status);
    });
  }

  test('a kubelet writes its own Node and Lease, and no others', async () => {
    const node = (name: string) => ({ metadata: { name } });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    assert.equal((await api.call('POST', '/api/v1/nodes', { as: 'node-a', body: node('a') })).status, 201);
    assert.equal((await api.call('POST', '/api/v1/nodes', { as: 'node-a', body: node('b') })).status, 403);
    assert.equal((await api.call('POST', leases, { as: 'node-a', body: node('a') })).status, 201);
    assert.equal((await api.call('POST', leases, { as: 'node-a', body: node('b') })).status, 403);
  });

  test('verbose health names the failed checks', async () => {
    const answer = await api.call('GET', '/readyz?verbose', { as: 'anonymous' });
    assert.match(
      String(answer.body),
      /\[\+\]etcd ok\n\[\+\]etcd-readiness ok\n\[\+\]informer-sync ok\n\[\+\]poststarthook\//,
    );
  });
});
