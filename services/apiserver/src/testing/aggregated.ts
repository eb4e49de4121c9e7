import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { objectKey } from '@holdfast/store';
import { createCertificate } from './certificate.ts';
import { until } from './custom.ts';
import { createExtensionServer, type ExtensionServer, GROUP, VERSION } from './extension-server.ts';
import { startTestApi, type TestApi } from './fixture.ts';

/** For a service `api` in the namespace `sample`. */
export const extensionTls = createCertificate('api.sample.svc', 'DNS:api.sample.svc');
/** Its own authority. */
export const frontProxyTls = createCertificate('front-proxy-client', 'DNS:front-proxy-client');

export const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
export const NAME = `${VERSION}.${GROUP}`;

export interface AggregatedWorld {
  readonly api: TestApi;
  readonly extension: ExtensionServer;
  readonly port: number;
  /** The registration of the extension server. */
  register(spec?: object): Promise<void>;
  /** The condition `Available`: its status and reason, once the reason is this one. */
  condition(reason: string): Promise<{ readonly status: string; readonly message: string }>;
}

const frontProxy = { certificate: frontProxyTls.certificate, key: frontProxyTls.key, ca: frontProxyTls.certificate };

/** An API server, an extension server on this machine, and a service that leads to it. */
export async function startAggregatedWorld(
  t: TestContext,
  options: Parameters<typeof startTestApi>[0] = {},
): Promise<AggregatedWorld> {
  const nobody = () => Promise.reject(new Error('no kubelet'));
  const api = await startTestApi({
    ...options,
    frontProxy,
    clientCa: 'client authority',
    nodes: () => ({ request: nobody, sharesMachine: (node) => node === 'own' }),
  });
  const extension = createExtensionServer({ ...extensionTls, clientCa: frontProxyTls.certificate });
  await new Promise<void>((done) => void extension.server.listen(0, '127.0.0.1', done));
  t.after(async () => {
    await api.stop();
    extension.server.closeAllConnections();
    extension.server.close();
  });
  const address = extension.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await api.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'sample' } } });
  return {
    api,
    extension,
    port,
    register: async (spec = {}) => {
      const body = { metadata: { name: NAME }, spec: { ...SPEC, ...spec } };
      const made = await api.call('POST', API_SERVICES, { body });
      assert.equal(made.status, 201, JSON.stringify(made.body));
    },
    condition: async (reason) => {
      let found: Condition | undefined;
      await until(async () => (found = await conditionOf(api, NAME))?.reason === reason);
      return { status: found?.status ?? '', message: found?.message ?? '' };
    },
  };
}

const SPEC = {
  group: GROUP,
  version: VERSION,
  groupPriorityMinimum: 2000,
  versionPriority: 200,
  service: { namespace: 'sample', name: 'api', port: 7443 },
  caBundle: Buffer.from(extensionTls.certificate).toString('base64'),
};

export interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export async function conditionOf(api: TestApi, name: string): Promise<Condition | undefined> {
  const { body } = await api.call('GET', `${API_SERVICES}/${name}`);
  return (body as { status?: { conditions?: Condition[] } }).status?.conditions?.[0];
}

/** The service, a pod of a node of this process, and endpoints that lead there. */
export async function serveExtension({ api, port }: AggregatedWorld): Promise<void> {
  await createService(api);
  await createPod(api);
  await writeEndpoints(api, port);
}

export const createService = (api: TestApi, port = 7443): Promise<unknown> =>
  api.call('POST', '/api/v1/namespaces/sample/services', {
    body: { metadata: { name: 'api' }, spec: { ports: [{ name: 'https', port }] } },
  });

export async function createPod(api: TestApi): Promise<void> {
  const at = '/api/v1/namespaces/sample/pods';
  const spec = { containers: [{ name: 'a', image: 'i' }], nodeName: 'own' };
  await api.call('POST', at, { body: { metadata: { name: 'p' }, spec } });
  const status = { podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] };
  await api.call('PATCH', `${at}/p/status`, { body: { status } });
}

/** Users may not write loopback addresses; the controller of a machine without a network does. */
export async function writeEndpoints(api: TestApi, port: number, targetRef: object | undefined = POD): Promise<void> {
  const key = objectKey({ group: '', resource: 'endpoints', namespace: 'sample', name: 'api' });
  const addresses = [{ ip: '127.0.0.1', ...(targetRef === undefined ? {} : { targetRef }) }];
  const endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'api', namespace: 'sample', uid: 'e', creationTimestamp: '2026-01-01T00:00:00Z' },
    subsets: [{ addresses, ports: [{ name: 'https', port }] }],
  };
  const value = JSON.stringify(endpoints);
  const { object } = await api.store.get(key);
  const operation =
    object === undefined
      ? ({ kind: 'create', key, value } as const)
      : ({ kind: 'update', key, value, expectedRevision: object.revision } as const);
  assert.equal((await api.store.write([operation])).outcome, 'committed');
}

const POD = { kind: 'Pod', name: 'p', namespace: 'sample' };
