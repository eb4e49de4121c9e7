import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
let port = 0;
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);

const SERVER = `require('node:http').createServer((request, response) => {
  response.setHeader('content-type', 'text/plain');
  response.end(request.method + ' ' + request.url + ' ' + (request.headers.authorization ?? 'nobody'));
}).listen(Number(process.env.PORT), '0.0.0.0')`;

before(async () => {
  const server = createServer().listen(0, '0.0.0.0');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  port = address.port;
  server.close();
  await once(server, 'close');
  cluster = await HoldfastProcess.start(['--memory']);
  const labels = { app: 'web' };
  const container = {
    name: 'main',
    image: 'node',
    command: [process.execPath, '-e', SERVER],
    env: [{ name: 'PORT', value: String(port) }],
    ports: [{ name: 'http', containerPort: port }],
    readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
  };
  const metadata = { name: 'web', namespace: 'default', labels };
  await send(
    ['create'],
    { apiVersion: 'v1', kind: 'Pod', metadata, spec: { terminationGracePeriodSeconds: 0, containers: [container] } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ port: 80, targetPort: 'http' }] },
    },
  );
  await run('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s');
});
after(() => cluster[Symbol.asyncDispose]());

const raw = (path: string): Promise<string> => run('get', '--raw', path);

test('pods, services and nodes are reached through their proxies, without the credentials of the caller', async () => {
  const base = '/api/v1/namespaces/default';
  assert.equal(await raw(`${base}/pods/web/proxy/a/b?c=d%20e`), 'GET /a/b?c=d%20e nobody');
  assert.equal(await raw(`${base}/pods/http:web:${port}/proxy/`), 'GET / nobody');
  await waitFor('the service has an endpoint', async () => {
    const { stdout } = await attempt('get', '--raw', `${base}/services/web:80/proxy/x`);
    return stdout === 'GET /x nobody';
  });
  assert.equal(await raw('/api/v1/nodes/node-1/proxy/healthz'), 'ok');
  assert.match((await attempt('get', '--raw', `${base}/services/web:81/proxy/`)).stderr, /no service port 81 found/);
  assert.match((await attempt('get', '--raw', `${base}/pods/none/proxy/`)).stderr, /pods "none" not found|NotFound/);
});
