import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { after, before, test } from 'node:test';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { createSystemClock } from '@holdfast/platform';
import { freePort } from '../support/free-port.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

/** The flow of the conformance test "Aggregator: should be able to support the Sample API Server", with a server of our own in the pod. */

let cluster: HoldfastProcess;
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);

const NAMESPACE = 'aggregator-test';
const GROUP = 'wardle.example.com';
const NAME = `v1alpha1.${GROUP}`;
const FLUNDERS = `/apis/${GROUP}/v1alpha1/namespaces/default/flunders`;
const API_SERVICE = `/apis/apiregistration.k8s.io/v1/apiservices/${NAME}`;

const SOURCE = stripTypeScriptTypes(
  readFileSync(new URL('../../services/apiserver/src/testing/extension-server.ts', import.meta.url), 'utf8'),
);
const PROGRAM = `${SOURCE}
const { TLS_CRT: certificate, TLS_KEY: key, CLIENT_CA: clientCa, PORT } = process.env;
const extension = createExtensionServer({ certificate, key, clientCa });
extension.intercept = ({ url, socket }, response) => {
  if (url === '/healthz') return void response.end('ok') ?? true;
  if (socket.authorized && socket.getPeerCertificate().subject.CN === 'front-proxy-client') return false;
  response.writeHead(401).end();
  return true;
};
extension.server.listen(Number(PORT), '0.0.0.0');`;

interface Meta {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly resourceVersion: string;
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

const raw = async <T>(path: string): Promise<T> => JSON.parse(await run('get', '--raw', path)) as T;

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

async function deploy(): Promise<string> {
  const names = { dnsNames: [`sample-api.${NAMESPACE}.svc`], ipAddresses: [] };
  const pki = await createClusterPki(names, createSystemClock().now());
  const port = await freePort();
  await run('create', 'namespace', NAMESPACE);
  await run(
    'create',
    'rolebinding',
    'wardler-auth-reader',
    '-n',
    'kube-system',
    '--role=extension-apiserver-authentication-reader',
    `--serviceaccount=${NAMESPACE}:default`,
  );
  const reader = ['--as', `system:serviceaccount:${NAMESPACE}:default`, '-n', 'kube-system'];
  const map = JSON.parse(
    await run('get', 'configmap', 'extension-apiserver-authentication', '-o', 'json', ...reader),
  ) as {
    data: Record<string, string>;
  };
  const labels = { app: 'sample-apiserver', apiserver: 'true' };
  const metadata = { namespace: NAMESPACE, labels };
  const secret = (name: string) => ({
    name,
    valueFrom: { secretKeyRef: { name: 'sample-apiserver-secret', key: name } },
  });
  const container = {
    name: 'sample-apiserver',
    image: 'node',
    command: [process.execPath, '--input-type=module', '-e', PROGRAM],
    env: [
      secret('TLS_CRT'),
      secret('TLS_KEY'),
      { name: 'CLIENT_CA', value: map.data['requestheader-client-ca-file'] },
      { name: 'PORT', value: String(port) },
    ],
    ports: [{ name: 'https', containerPort: port }],
    readinessProbe: { httpGet: { path: '/healthz', port: 'https', scheme: 'HTTPS' }, periodSeconds: 1 },
  };
  await send(
    ['create'],
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'sample-apiserver-secret', namespace: NAMESPACE },
      stringData: { TLS_CRT: pki.serverCertificate, TLS_KEY: pki.serverKey },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'sample-apiserver-deployment', ...metadata },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'sample-api', ...metadata },
      spec: { selector: labels, ports: [{ protocol: 'TCP', port: 7443, targetPort: port }] },
    },
  );
  await run(
    'wait',
    '--for=condition=Available',
    'deployment/sample-apiserver-deployment',
    '-n',
    NAMESPACE,
    '--timeout=60s',
  );
  return pki.caCertificate;
}

async function register(ca: string): Promise<void> {
  await send(['create'], {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: NAME },
    spec: {
      service: { namespace: NAMESPACE, name: 'sample-api', port: 7443 },
      group: GROUP,
      version: 'v1alpha1',
      caBundle: Buffer.from(ca).toString('base64'),
      groupPriorityMinimum: 2000,
      versionPriority: 200,
    },
  });
  await run('wait', '--for=condition=Available', `apiservice/${NAME}`, '--timeout=60s');
}

const flunder = (name: string): object => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'Flunder',
  metadata: { labels: { 'sample-label': 'true' }, name, namespace: 'default' },
});

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

async function ownerOf(kind: string, name: string): Promise<Owner> {
  const found = JSON.parse(await run('get', kind, name, '-n', 'default', '-o', 'json')) as Omit<
    Owner,
    'name' | 'uid'
  > & {
    metadata: Pick<Owner, 'uid'>;
  };
  return { apiVersion: found.apiVersion, kind: found.kind, name, uid: found.metadata.uid };
}

const ownedConfigMap = (name: string, ...ownerReferences: readonly Owner[]): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ownerReferences },
});

test('an API server in a pod is registered, served, discovered, and unregistered', async () => {
  const ca = await deploy();
  await register(ca);

  // By path only.
  assert.deepEqual((await raw<{ items: unknown[] }>(FLUNDERS)).items, []);
  await send(['create', '--raw', FLUNDERS], flunder('rest-flunder'));
  assert.equal((await raw<{ items: unknown[] }>(FLUNDERS)).items.length, 1);
  await run('delete', '--raw', `${FLUNDERS}/rest-flunder`);
  assert.equal((await raw<{ items: unknown[] }>(FLUNDERS)).items.length, 0);

  // By discovery.
  await waitFor('discovery knows the resource', async () =>
    (await run('api-resources', '--api-group', GROUP)).includes('flunders'),
  );

  // By its schemas.
  await waitFor('the schemas are known', async () => (await attempt('explain', 'flunder.spec')).code === 0);
  assert.match(await run('explain', 'flunder'), /A flounder[^]*What the flounder should be/);
  const odd = { ...flunder('odd'), metadata: { name: 'odd', fins: '7' } };
  await assert.rejects(send(['create'], odd), /unknown field .*fins/);
  assert.match(await send(['apply', '--dry-run=client'], flunder('dynamic-flunder')), /created \(dry run\)/);
  await send(['create'], flunder('dynamic-flunder'));
  assert.match(await run('get', 'fl', '-n', 'default'), /NAME +FINS\ndynamic-flunder +7/);
  await run('delete', 'flunder', 'dynamic-flunder', '-n', 'default');
  assert.match((await attempt('get', 'flunders', '-n', 'default')).stderr, /No resources found/);

  // Objects go with their owner, whichever server has it.
  await send(['create'], flunder('owner'), ownedConfigMap('owner'));
  await send(['create'], ownedConfigMap('of-flunder', await ownerOf('flunder', 'owner')));
  const ownerReferences = [await ownerOf('configmap', 'owner')];
  await send(['create', '--raw', FLUNDERS], { ...flunder('owned'), metadata: { name: 'owned', ownerReferences } });
  await run('delete', 'flunder/owner', 'configmap/owner', '-n', 'default');
  await run('wait', '--for=delete', 'configmap/of-flunder', 'flunder/owned', '-n', 'default', '--timeout=60s');

  // Objects go with their namespace.
  const reef = FLUNDERS.replace('/default/', '/reef/');
  await run('create', 'namespace', 'reef');
  await send(['create', '--raw', reef], { ...flunder('reef-flunder'), metadata: { name: 'reef-flunder' } });
  await run('delete', 'namespace', 'reef', '--timeout=60s');
  assert.deepEqual((await raw<{ items: unknown[] }>(reef)).items, []);

  // The registration itself: status, patch, update, labels, collection.
  const status = await raw<Meta>(`${API_SERVICE}/status`);
  assert.deepEqual(
    status.status?.conditions?.map(({ type, status: is, reason }) => [type, is, reason]),
    [['Available', 'True', 'Passed']],
  );
  await run('patch', 'apiservice', NAME, '--type=merge', '-p', '{"spec":{"versionPriority":400}}');
  assert.equal((await raw<{ spec: { versionPriority: number } }>(API_SERVICE)).spec.versionPriority, 400);
  const all = await raw<{ items: Meta[] }>('/apis/apiregistration.k8s.io/v1/apiservices');
  assert.ok(all.items.some(({ metadata }) => metadata.name === NAME));
  await run('label', 'apiservice', NAME, 'e2e-framework=aggregator');
  const condition = { type: 'StatusUpdated', status: 'True', reason: 'E2E', message: 'Set from an e2e test' };
  const patch = [{ op: 'add', path: '/status/conditions/-', value: condition }];
  await run('patch', 'apiservice', NAME, '--subresource=status', '--type=json', '-p', JSON.stringify(patch));
  const patched = await raw<Meta>(API_SERVICE);
  assert.deepEqual(
    patched.status?.conditions?.map(({ type }) => type),
    ['Available', 'StatusUpdated'],
  );
  await send(['replace', '--subresource=status'], {
    ...patched,
    status: { conditions: patched.status?.conditions?.slice(0, 1) },
  });
  assert.equal((await raw<Meta>(API_SERVICE)).status?.conditions?.length, 1);
  await run('delete', 'apiservices', '-l', 'e2e-framework=aggregator');
  const gone = await attempt('get', '--raw', FLUNDERS);
  assert.match(gone.stderr, /the server could not find the requested resource/);
});

test('a namespace is deleted although an API of the cluster is unavailable, and reports it meanwhile', async () => {
  await send(['create'], {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: NAME },
    spec: {
      service: { namespace: NAMESPACE, name: 'nobody' },
      group: GROUP,
      version: 'v1alpha1',
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 2000,
      versionPriority: 200,
    },
  });
  await run('create', 'namespace', 'short');
  await run('delete', 'namespace', 'short', '--wait=false');
  await waitFor('the namespace says what it waits for', async () => {
    const { stdout } = await attempt('get', 'namespace', 'short', '-o', 'json');
    return /"NamespaceDeletionDiscoveryFailure"/.test(stdout) && /"DiscoveryFailed"/.test(stdout);
  });
  await run('delete', 'apiservice', NAME);
  await run('wait', '--for=delete', 'namespace/short', '--timeout=60s');
});
