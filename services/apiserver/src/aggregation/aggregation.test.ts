import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { readAuditPolicy } from '../audit/policy.ts';
import type { AuditSink } from '../audit/sink.ts';
import {
  type AggregatedWorld,
  API_SERVICES,
  conditionOf,
  createPod,
  createService,
  NAME,
  serveExtension,
  startAggregatedWorld,
  writeEndpoints,
} from '../testing/aggregated.ts';
import { createCertificate } from '../testing/certificate.ts';
import { until } from '../testing/custom.ts';
import { GROUP, ROOT, type SeenRequest } from '../testing/extension-server.ts';
import { type Answer, type Call, startTestApi } from '../testing/fixture.ts';

const FLUNDERS = `${ROOT}/namespaces/default/flunders`;
const flunder = (name: string): object => ({ apiVersion: `${GROUP}/v1alpha1`, kind: 'Flunder', metadata: { name } });

async function bodyOf({ raw }: Answer): Promise<string> {
  if (raw.body.kind === 'text') return raw.body.text;
  if (raw.body.kind !== 'stream') return raw.body.kind;
  const chunks: Uint8Array[] = [];
  for await (const chunk of raw.body.chunks) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const forwarded = ({ extension }: AggregatedWorld): readonly SeenRequest[] =>
  extension.seen.filter(({ headers }) => headers['x-remote-user'] !== 'system:kube-aggregator');

test('the condition follows the service, its port, its endpoints and the response of the server', async (t) => {
  const world = await startAggregatedWorld(t);
  const { api, port, extension } = world;
  await world.register();
  assert.equal((await world.condition('ServiceNotFound')).message, 'service/api in "sample" is not present');
  await createService(api, 80);
  assert.match((await world.condition('ServicePortError')).message, /is not listening on port 7443$/);
  const services = '/api/v1/namespaces/sample/services/api';
  await api.call('PATCH', services, { body: { spec: { ports: [{ name: 'https', port: 7443 }] } } });
  assert.match((await world.condition('EndpointsNotFound')).message, /^cannot find endpoints for/);
  await createPod(api);
  extension.intercept = (_request, response) => {
    response.writeHead(500).end();
    return true;
  };
  await writeEndpoints(api, port);
  const failed = await world.condition('FailedDiscoveryCheck');
  const url = `https://127.0.0.1:${port}${ROOT}`;
  assert.deepEqual(failed, {
    status: 'False',
    message: `failing or missing response from ${url}: bad status from ${url}: 500`,
  });
  extension.intercept = () => false;
  assert.deepEqual(await world.condition('Passed'), { status: 'True', message: 'all checks passed' });
  await api.call('DELETE', services);
  assert.equal((await world.condition('ServiceNotFound')).status, 'False');
  const table = await api.call('GET', API_SERVICES, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  const rows = (table.body as { rows: { cells: string[] }[] }).rows.map(({ cells }) => cells.slice(0, 3));
  assert.deepEqual(
    rows.find(([name]) => name === NAME),
    [NAME, 'sample/api', 'False (ServiceNotFound)'],
  );
});

test('requests reach the server with the identity of the user and without credentials', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  const { api } = world;
  const made = await api.call('POST', FLUNDERS, {
    body: flunder('a'),
    headers: {
      'x-remote-user': 'root',
      'x-remote-group': 'system:masters',
      'x-remote-extra-scopes': 'all',
      'x-own': '1',
    },
  });
  assert.equal(made.status, 201, await bodyOf(made));
  const listed = await api.call('GET', `${FLUNDERS}?limit=5`, {
    headers: { 'impersonate-user': 'Jörg', 'impersonate-group': 'a,b\nc', 'impersonate-extra-scopes%2fx': 'one' },
  });
  assert.equal(listed.status, 403, 'Jörg may not list');
  const rules = [{ apiGroups: [GROUP], resources: ['flunders'], verbs: ['list'] }];
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await api.call('POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'lists' }, rules } });
  await api.call('POST', `${rbac}/clusterrolebindings`, {
    body: {
      metadata: { name: 'lists' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'lists' },
      subjects: [{ kind: 'Group', name: 'c', apiGroup: 'rbac.authorization.k8s.io' }],
    },
  });
  const allowed = await api.call('GET', `${FLUNDERS}?limit=5`, {
    headers: { 'impersonate-user': 'Jörg', 'impersonate-group': 'a,b\nc', 'impersonate-extra-scopes%2fx': 'one' },
  });
  assert.match(await bodyOf(allowed), /"kind":"FlunderList"/);
  const [first, second] = forwarded(world);
  assert.equal(forwarded(world).length, 2, 'who may not is not forwarded');
  assert.deepEqual(
    [first?.frontProxy, first?.headers['x-remote-user'], first?.headers['x-own']],
    ['front-proxy-client', 'admin', '1'],
  );
  assert.equal(first?.headers['x-remote-group'], 'system:masters, system:authenticated');
  assert.deepEqual([first?.headers['authorization'], first?.headers['x-remote-extra-scopes']], [undefined, undefined]);
  assert.equal(Buffer.from(String(second?.headers['x-remote-user']), 'latin1').toString(), 'Jörg');
  assert.deepEqual(
    second?.rawHeaders.filter((_, i, all) => all[i - 1] === 'x-remote-group'),
    ['a,b', 'c', 'system:authenticated'],
  );
  assert.equal(second?.headers['x-remote-extra-scopes%2fx'], 'one');
  assert.deepEqual([second?.headers['impersonate-user'], second?.url], [undefined, `${FLUNDERS}?limit=5`]);
});

test('the events of both servers have one id, which the client gets', async (t) => {
  const events: string[] = [];
  const sink: AuditSink = {
    name: 'log',
    take: (event) => void events.push(event),
    lost: () => 0,
    start: async () => {},
    stop: async () => {},
  };
  const rules = [{ level: 'None', verbs: ['delete'] }, { level: 'Metadata' }];
  const { policy } = readAuditPolicy({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules });
  const world = await startAggregatedWorld(t, { audit: { policy, sinks: [sink] } });
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  world.extension.intercept = (_request, response) => {
    response.setHeader('audit-id', 'theirs');
    return false;
  };
  const { api } = world;
  const idOfEvent = (): unknown => (JSON.parse(events.at(-1) ?? '{}') as { auditID?: unknown }).auditID;
  const made = await api.call('POST', FLUNDERS, { body: flunder('a') });
  assert.equal(made.headers['audit-id'], idOfEvent());
  assert.equal(forwarded(world).at(-1)?.headers['audit-id'], idOfEvent());
  const own = await api.call('GET', FLUNDERS, { headers: { 'audit-id': 'i'.repeat(100) } });
  assert.equal(forwarded(world).at(-1)?.headers['audit-id'], idOfEvent());
  assert.deepEqual([own.headers['audit-id'], idOfEvent()], [undefined, 'i'.repeat(64)]);
  const unaudited = await api.call('DELETE', `${FLUNDERS}/a`);
  assert.match(String(unaudited.headers['audit-id']), /^[0-9a-f-]{36}$/);
  assert.equal(forwarded(world).at(-1)?.headers['audit-id'], unaudited.headers['audit-id']);
});

test('tables, watches and protocol upgrades are forwarded', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  const { api } = world;
  const abort = new AbortController();
  const watch = await api.call('GET', `${FLUNDERS}?watch=true`, { signal: abort.signal });
  assert.ok(watch.raw.body.kind === 'stream');
  const frames = watch.raw.body.chunks[Symbol.asyncIterator]();
  await api.call('POST', FLUNDERS, { body: flunder('a') });
  const frame: unknown = JSON.parse(Buffer.from((await frames.next()).value ?? []).toString());
  assert.deepEqual([Reflect.get(frame as object, 'type')], ['ADDED']);
  abort.abort();
  await assert.rejects(async () => frames.next());
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const table: unknown = JSON.parse(await bodyOf(await api.call('GET', FLUNDERS, { headers: { accept } })));
  assert.deepEqual(Reflect.get(Reflect.get(table as object, 'rows')[0], 'cells'), ['a', '7']);
  const upgraded = await api.call('GET', `${FLUNDERS}/a/exec`, {
    headers: { connection: 'Upgrade', upgrade: 'echo' },
  });
  assert.equal(upgraded.status, 101);
  assert.deepEqual(await echoed(upgraded, 'hello'), 'hello');
  assert.equal(forwarded(world).at(-1)?.headers['x-remote-user'], 'admin');
});

/** Returns the echo of this text. */
function echoed({ raw }: Answer, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const client = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      resolve(chunk.toString());
      done();
      client.destroy();
    },
  });
  client.push(text);
  raw.upgrade?.(client, new Uint8Array());
  return promise;
}

const BAD_ANSWERS: readonly (readonly [what: string, spec: object, status: number, text: RegExp])[] = [
  [
    'a certificate of another authority',
    { caBundle: Buffer.from(createCertificate().certificate).toString('base64') },
    503,
    /^error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority\n$/,
  ],
  [
    'no authority, and verification is skipped',
    { caBundle: undefined, insecureSkipTLSVerify: true },
    200,
    /FlunderList/,
  ],
];
for (const [what, spec, status, text] of BAD_ANSWERS) {
  test(`the certificate of a server is checked: ${what}`, async (t) => {
    const world = await startAggregatedWorld(t);
    await serveExtension(world);
    await world.register(spec);
    await world.condition('Passed');
    const answer = await world.api.call('GET', FLUNDERS);
    assert.equal(answer.status, status);
    assert.match(await bodyOf(answer), text);
  });
}

test('a certificate for another name is refused', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  const other = createCertificate('x', 'DNS:other.sample.svc');
  world.extension.server.setSecureContext({ cert: other.certificate, key: other.key });
  world.extension.server.closeAllConnections();
  await world.api.call('PATCH', `${API_SERVICES}/${NAME}`, {
    body: { spec: { caBundle: Buffer.from(other.certificate).toString('base64') } },
  });
  assert.match(
    await bodyOf(await world.api.call('GET', FLUNDERS)),
    /x509: certificate is not valid for api\.sample\.svc/,
  );
});

test('[CVE-2022-3172] redirects of a server are not followed', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  world.extension.intercept = (_request, response) => {
    response.writeHead(302, { location: 'https://elsewhere.example.com/' }).end();
    return true;
  };
  const answer = await world.api.call('GET', FLUNDERS);
  assert.deepEqual(
    [answer.status, answer.headers['location'], await bodyOf(answer)],
    [502, undefined, 'the backend attempted to redirect this request, which is not permitted'],
  );
});

test('[CVE-2020-8562] loopback addresses are reached only for pods of this process', async (t) => {
  const world = await startAggregatedWorld(t);
  await createService(world.api);
  await createPod(world.api);
  await writeEndpoints(world.api, world.port, { kind: 'Pod', name: 'another', namespace: 'sample' });
  await world.register();
  const { message } = await world.condition('FailedDiscoveryCheck');
  assert.equal(message, 'no endpoints available for service "api"');
  assert.equal(world.extension.seen.length, 0);
});

test('an unavailable server answers 503 and does not affect other groups', async (t) => {
  const world = await startAggregatedWorld(t);
  await world.register();
  await world.condition('ServiceNotFound');
  const { api } = world;
  for (const path of [ROOT, FLUNDERS, `${FLUNDERS}/a`]) {
    const answer = await api.call('GET', path);
    assert.deepEqual([answer.status, await bodyOf(answer)], [503, 'service unavailable\n'], path);
  }
  assert.equal((await api.call('GET', '/apis/apps/v1')).status, 200);
  assert.equal((await api.call('GET', `/apis/${GROUP}`)).status, 200);
});

test('a connection that the server closed while idle is replaced for safe requests', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  await bodyOf(await world.api.call('GET', FLUNDERS));
  const used = new WeakSet<object>();
  let drops = 0;
  world.extension.intercept = ({ socket }) => {
    if (drops === 0 && !used.has(socket)) {
      drops++;
      socket.destroy();
      return true;
    }
    return false;
  };
  const answer = await world.api.call('GET', FLUNDERS);
  assert.deepEqual([answer.status, drops], [200, 1]);
});

test('the group of registrations is served locally, whatever is registered for it', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  const { service, caBundle } = { service: { namespace: 'sample', name: 'api', port: 7443 }, caBundle: '' };
  const made = await world.api.call('POST', API_SERVICES, {
    body: {
      metadata: { name: 'v1.apiregistration.k8s.io' },
      spec: {
        group: 'apiregistration.k8s.io',
        version: 'v1',
        groupPriorityMinimum: 1,
        versionPriority: 1,
        service,
        caBundle,
      },
    },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal((await world.api.call('GET', API_SERVICES)).status, 200);
  assert.equal((await world.api.call('DELETE', `${API_SERVICES}/v1.apiregistration.k8s.io`)).status, 200);
});

test('a Kubernetes group may be delegated to another server, and returns', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  const { api } = world;
  const service = { namespace: 'sample', name: 'api', port: 7443 };
  const moved = { service, insecureSkipTLSVerify: true };
  world.extension.intercept = (request, response) => {
    if (request.url?.startsWith('/apis/batch/v1') !== true) return false;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"Elsewhere"}');
    return true;
  };
  await api.call('PATCH', `${API_SERVICES}/v1.batch`, { body: { spec: moved } });
  await until(async () => (await conditionOf(api, 'v1.batch'))?.reason === 'Passed');
  assert.equal(await bodyOf(await api.call('GET', '/apis/batch/v1/namespaces/default/jobs')), '{"kind":"Elsewhere"}');
  const back = { service: null, insecureSkipTLSVerify: null };
  await api.call('PATCH', `${API_SERVICES}/v1.batch`, { body: { spec: back } });
  await until(async () => (await conditionOf(api, 'v1.batch'))?.reason === 'Local');
  assert.equal((await api.call('GET', '/apis/batch/v1/namespaces/default/jobs')).textAt('kind'), 'JobList');
});

test('a start restores changed registrations, unless their label was removed', async (t) => {
  const first = await startTestApi();
  t.after(() => first.stop());
  const call = (name: string, body: object): Promise<Answer> =>
    first.call('PATCH', `${API_SERVICES}/${name}`, { body });
  await call('v1.apps', { spec: { versionPriority: 7 } });
  await call('v1.batch', { spec: { versionPriority: 7 }, metadata: { labels: null } });
  await first.call('DELETE', `${API_SERVICES}/v1.policy`);
  const second = await startTestApi({ store: first.store });
  const priority = async (name: string): Promise<unknown> =>
    (await second.call('GET', `${API_SERVICES}/${name}`)).at('spec.versionPriority');
  assert.deepEqual(await Promise.all(['v1.apps', 'v1.batch', 'v1.policy'].map(priority)), [15, 7, 15]);
  await second.server.stop();
});

const as = (user: string): Call => ({ as: user });

test('the ConfigMap of extension servers describes the authentication headers', async (t) => {
  const { api } = await startAggregatedWorld(t);
  const map = await api.call('GET', '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication');
  assert.deepEqual(Object.keys(map.at('data') as object).toSorted(), [
    'client-ca-file',
    'requestheader-allowed-names',
    'requestheader-client-ca-file',
    'requestheader-extra-headers-prefix',
    'requestheader-group-headers',
    'requestheader-username-headers',
  ]);
  assert.equal(map.at('data.requestheader-allowed-names'), '["front-proxy-client"]');
  const refused = await api.call(
    'GET',
    '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
    as('nobody'),
  );
  assert.equal(refused.status, 403);
});

test('an upgrade request declares no body: later bytes of the connection would be taken for it', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  const { api, extension } = world;
  // It refuses to change the protocol, and answers before it has read a body.
  extension.server.removeAllListeners('upgrade');
  extension.intercept = ({ url }, response) => {
    if (url?.startsWith(FLUNDERS) === true) response.end('{}');
    return url?.startsWith(FLUNDERS) === true;
  };
  const headers = { connection: 'Upgrade', upgrade: 'echo', 'content-length': '2000' };
  await bodyOf(await api.call('GET', FLUNDERS, { headers }));
  await bodyOf(await api.call('POST', FLUNDERS, { body: 'x'.repeat(2_000) }));
  const told = forwarded(world).map(({ method, url, headers: sent }) => [method, url, sent['x-remote-user']]);
  assert.deepEqual(told, [
    ['GET', FLUNDERS, 'admin'],
    ['POST', FLUNDERS, 'admin'],
  ]);
});

test('a connection whose answer is not forwarded is not reused', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  await world.register();
  await world.condition('Passed');
  const { api, extension } = world;
  extension.server.keepAliveTimeout = 0;
  extension.intercept = ({ url }, response) => {
    if (url?.startsWith(FLUNDERS) !== true) return false;
    response.writeHead(302, { location: 'https://elsewhere.example.com/' }).end('moved');
    return true;
  };
  const before = await connectionsOf(world);
  for (let i = 0; i < 10; i++) assert.equal((await api.call('GET', FLUNDERS)).status, 502);
  await until(async () => (await connectionsOf(world)) <= before + 1);
});

function connectionsOf({ extension }: AggregatedWorld): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  extension.server.getConnections((_error, count) => resolve(count));
  return promise;
}

test('an availability check does not read an endless answer', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  let open = 0;
  world.extension.intercept = ({ url }, response) => {
    if (url !== ROOT) return false;
    open += 1;
    response.once('close', () => (open -= 1));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(Buffer.alloc(8 * 1024 * 1024));
    return true;
  };
  await world.register();
  await world.condition('Passed');
  await until(async () => open === 0);
});
