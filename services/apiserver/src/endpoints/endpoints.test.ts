import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { type HealthCheck, healthAnswer } from './health.ts';
import { createServiceLevels } from './service-levels.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

describe('health', () => {
  const check = (name: string, problems: readonly string[] = [], forLiveness = true): HealthCheck => ({
    name,
    problems: () => problems,
    forLiveness,
  });
  const levels = createServiceLevels();
  const ask = async (url: string, checks: readonly HealthCheck[]): Promise<string> => {
    const [path = '', query = ''] = url.split('?');
    const request = { method: 'GET', path, query: new URLSearchParams(query), headers: {} } as const;
    const answer = await healthAnswer(request, checks, levels);
    return `${answer.status} ${answer.body.kind === 'text' ? answer.body.text : ''}`;
  };

  test('health is reported in short and verbose form', async () => {
    const checks = [check('ping'), check('store', [], false)];
    assert.equal(await ask('/readyz', checks), '200 ok');
    assert.equal(await ask('/livez?verbose', checks), '200 [+]ping ok\n[+]log ok\nlivez check passed\n');
    assert.equal(await ask('/readyz/etcd', checks), '200 ok');
    assert.equal(await ask('/livez/etcd', checks), '404 404 page not found\n');
  });

  test('a failed check is reported unless it is excluded', async () => {
    const checks = [check('log'), check('store', ['down'])];
    assert.equal(
      await ask('/readyz', checks),
      '500 [+]log ok\n[-]etcd failed: down\n[-]etcd-readiness failed: down\nreadyz check failed\n',
    );
    assert.equal(await ask('/readyz/etcd', checks), '500 internal server error: down\n');
    assert.equal(await ask('/readyz/log?verbose', checks), '200 ok');
    assert.equal(
      await ask('/healthz?verbose&exclude=etcd&exclude=nope', checks),
      '200 [+]log ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nope"\nhealthz check passed\n',
    );
  });
});

test('the results of the checks are counted in metrics', async () => {
  for (const url of ['/readyz', '/readyz/ping', '/readyz?exclude=ping']) await api.call('GET', url);
  const { status, body, headers } = await api.call('GET', '/metrics/slis');
  assert.deepEqual([status, headers['content-type']], [200, 'text/plain; version=0.0.4; charset=utf-8']);
  const lines = String(body).split('\n');
  for (const line of [
    'kubernetes_healthcheck{name="ping",type="readyz"} 1',
    'kubernetes_healthchecks_total{name="ping",type="readyz",status="success"} 2',
    'kubernetes_healthchecks_total{name="store",type="readyz",status="success"} 2',
  ])
    assert.ok(lines.includes(line), `${line}\n${String(body)}`);
  const levels = createServiceLevels();
  levels.observe('store', 'livez', true);
  levels.observe('store', 'livez', false);
  assert.match(levels.render(), /^kubernetes_healthcheck\{name="store",type="livez"\} 0$/m);
  assert.match(levels.render(), /status="error"\} 1$/m);
});

describe('discovery', () => {
  test('core bindings and component statuses come first, with their verbs', async () => {
    const { body } = await api.call('GET', '/api/v1');
    const [bindings, statuses] = (body as { resources: { name: string; verbs: string[]; shortNames?: string[] }[] })
      .resources;
    assert.deepEqual([bindings?.name, bindings?.verbs], ['bindings', ['create']]);
    assert.deepEqual(
      [statuses?.name, statuses?.verbs, statuses?.shortNames],
      ['componentstatuses', ['get', 'list'], ['cs']],
    );
  });

  test('a cached document has an ETag and is sent once', async () => {
    const form = (version: string): string =>
      `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    const accept = `${form('v2')},${form('v2beta1')},application/json`;
    const tags = new Set<string>();
    for (const path of ['/api', '/apis']) {
      const { status, headers } = await api.call('GET', path, { headers: { accept } });
      const { 'content-type': type, vary, 'cache-control': kept, etag = '' } = headers;
      assert.deepEqual([status, type, vary, kept], [200, form('v2'), 'Accept', 'public']);
      assert.match(etag, /^"[0-9A-F]{128}"$/);
      tags.add(etag);
      const documents = [0, 1].map(async () => (await api.call('GET', path, { headers: { accept } })).raw.body);
      const [one, other] = await Promise.all(documents);
      assert.ok(one?.kind === 'json' && other?.kind === 'json');
      assert.equal(one.bytes(), other.bytes(), 'made once');
      const again = await api.call('GET', path, { headers: { accept, 'if-none-match': etag } });
      assert.deepEqual([again.status, again.headers['etag'], again.raw.body.kind], [304, etag, 'empty']);
      const older = await api.call('GET', path, { headers: { accept: form('v2beta1'), 'if-none-match': etag } });
      assert.deepEqual([older.status, older.at('apiVersion')], [200, 'apidiscovery.k8s.io/v2beta1']);
      assert.equal((await api.call('GET', path)).headers['etag'], undefined);
    }
    assert.equal(tags.size, 2);
  });

  const groupsIn = (version: string): string => `g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const accepted: readonly (readonly [path: string, accept: string, answer: string])[] = [
    ['/apis', `application/json, application/json;${groupsIn('v2')};q=0.1`, `application/json;${groupsIn('v2')}`],
    [
      '/apis',
      `application/json;${groupsIn('v2')};q=0.5, application/json;${groupsIn('v2beta1')}`,
      `application/json;${groupsIn('v2beta1')}`,
    ],
    ['/apis', `application/*;${groupsIn('v2')}`, `application/json;${groupsIn('v2')}`],
    ['/api', `application/yaml;${groupsIn('v2')}`, `application/yaml;${groupsIn('v2')}`],
    ['/apis', `application/json;${groupsIn('v3')}, application/yaml`, 'application/yaml'],
    ['/apis', 'application/*', 'application/json'],
    ['/apis/apps', 'application/*', 'application/json'],
    ['/apis', `application/json;${groupsIn('v3')}`, 'NotAcceptable'],
    ['/api/v1', `application/json;${groupsIn('v2')}`, 'NotAcceptable'],
    ['/apis/apps', 'application/json;as=Table;g=meta.k8s.io;v=v1', 'NotAcceptable'],
    ['/api', 'application/*', 'NotAcceptable'],
  ];
  for (const [path, accept, answer] of accepted) {
    test(`${path} with Accept ${accept} answers ${answer}`, async () => {
      const { raw } = await api.call('GET', path, { headers: { accept } });
      const reason = raw.body.kind === 'json' ? (raw.body.value() as { readonly reason?: string }).reason : undefined;
      assert.deepEqual(
        [raw.status, reason ?? raw.headers['content-type']],
        [answer === 'NotAcceptable' ? 406 : 200, answer],
      );
    });
  }

  test('a server lists its checks under the names of Kubernetes', async () => {
    const listed = async (path: string): Promise<readonly string[]> =>
      String((await api.call('GET', `${path}?verbose`)).body).split('\n');
    const always = ['[+]ping ok', '[+]log ok'];
    const ready = ['[+]etcd ok', '[+]poststarthook/rbac/bootstrap-roles ok', '[+]poststarthook/crd-informer-synced ok'];
    for (const [path, lines] of [
      ['/livez', always],
      ['/healthz', [...always, ...ready]],
      ['/readyz', [...always, ...ready, '[+]informer-sync ok']],
    ] as const) {
      const found = await listed(path);
      for (const line of lines) assert.ok(found.includes(line), `${path}: ${line}`);
    }
    assert.equal((await api.call('GET', '/readyz/poststarthook/rbac/bootstrap-roles')).status, 200);
  });

  test('the root lists every check', async () => {
    const paths = (await api.call('GET', '/')).at('paths');
    assert.ok(Array.isArray(paths));
    for (const path of ['/healthz/ping', '/readyz/store', '/livez', '/openapi/v3/'])
      assert.ok(paths.includes(path), path);
    assert.ok(!paths.includes('/livez/store'));
  });

  test('OpenAPI documents of the paths that lead to groups', async () => {
    const { body } = await api.call('GET', '/openapi/v3');
    const { paths } = body as { paths: Record<string, { serverRelativeURL: string }> };
    for (const name of ['api', 'apis', 'apis/apps', 'version', 'openid/v1/jwks']) assert.ok(paths[name], name);
    const group = await api.call('GET', '/openapi/v3/apis/apps');
    const reference = { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup' };
    const operation = (group.body as { paths: Record<string, { get: { responses: { 200: { content: object } } } }> })
      .paths['/apis/apps/']?.get;
    assert.deepEqual(
      Object.entries(operation?.responses[200].content ?? {}),
      ['json', 'yaml', 'vnd.kubernetes.protobuf'].map((type) => [`application/${type}`, { schema: reference }]),
    );
  });
});

describe('resources that are never stored', () => {
  test('component statuses report the store, with a deprecation warning', async () => {
    const list = await api.call('GET', '/api/v1/componentstatuses');
    assert.deepEqual(
      [list.status, list.at('kind'), list.at('items.0.metadata.name')],
      [200, 'ComponentStatusList', 'etcd-0'],
    );
    assert.equal(list.headers['warning'], '299 - "v1 ComponentStatus is deprecated in v1.19+"');
    const one = await api.call('GET', '/api/v1/componentstatuses/etcd-0');
    assert.deepEqual(one.at('conditions'), [{ type: 'Healthy', status: 'True', message: 'ok' }]);
    assert.equal((await api.call('GET', '/api/v1/componentstatuses/none')).status, 404);
    assert.equal((await api.call('POST', '/api/v1/componentstatuses', { body: {} })).status, 405);
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const table = await api.call('GET', '/api/v1/componentstatuses', { headers });
    assert.deepEqual(table.at('rows.0.cells'), ['etcd-0', 'Healthy', 'ok', '']);
  });

  test('[SAFE-01] a binding posted to the legacy path binds once', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    await api.call('POST', pods, { body: podBody('p') });
    const bind = (node: string) =>
      api.call('POST', '/api/v1/namespaces/default/bindings', {
        body: { metadata: { name: 'p' }, target: { kind: 'Node', name: node } },
      });
    assert.equal((await bind('n1')).status, 201);
    assert.equal((await bind('n2')).status, 409);
    assert.equal((await api.call('GET', `${pods}/p`)).at('spec.nodeName'), 'n1');
  });
});
