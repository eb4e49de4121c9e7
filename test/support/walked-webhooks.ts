import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { createSystemClock } from '@holdfast/platform';
import { freePort } from './free-port.ts';
import { type Fields, type GoAnswer, type GoClient, must } from './go-client.ts';
import { waitFor } from './wait.ts';

const PROGRAM = stripTypeScriptTypes(readFileSync(new URL('walk-webhook-main.ts', import.meta.url), 'utf8'));
const SERVICE = 'e2e-test-webhook';
/** A second way to the same server, which a test may take away. */
export const CONVERSION_SERVICE = 'e2e-test-crd-conversion-webhook';
const SERVICE_PORT = 8443;
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const VERSION = 'admissionregistration.k8s.io/v1';
const HOME = 'webhook-home';

export type HookType = 'Validating' | 'Mutating';

export const configurationsOf = (type: HookType, name = ''): string =>
  `${ADMISSION}/${type.toLowerCase()}webhookconfigurations${name === '' ? '' : `/${name}`}`;

export const CONFIG_MAPS = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

/** A webhook server in a pod behind a Service, as the conformance tests deploy it. */
export class WalkedWebhooks {
  readonly client: GoClient;
  readonly #ca: string;

  private constructor(client: GoClient, ca: string) {
    this.client = client;
    this.#ca = ca;
  }

  static async deploy(client: GoClient): Promise<WalkedWebhooks> {
    const dnsNames = [SERVICE, CONVERSION_SERVICE].map((name) => `${name}.${HOME}.svc`);
    const pki = await createClusterPki({ dnsNames, ipAddresses: [] }, createSystemClock().now());
    const port = await freePort();
    const v1 = `/api/v1/namespaces/${HOME}`;
    await createNamespace(client, HOME);
    await must(
      201,
      client.typed('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings', AUTH_READER),
    );
    await must(201, client.typed('POST', `${v1}/secrets`, secretOf(pki.serverCertificate, pki.serverKey)));
    const deployments = `/apis/apps/v1/namespaces/${HOME}/deployments`;
    await must(201, client.typed('POST', deployments, deploymentOf(port)));
    await waitFor('the webhook is deployed', async () => {
      const { object } = await client.typed('GET', `${deployments}/sample-webhook-deployment`);
      return (object['status'] as Fields)['availableReplicas'] === 1;
    });
    for (const service of [SERVICE, CONVERSION_SERVICE]) {
      await must(201, client.typed('POST', `${v1}/services`, serviceOf(service, port)));
      await waitFor('the service has an endpoint', async () => {
        const answer = await client.typed('GET', `${v1}/endpoints/${service}`);
        return answer.status === 200 && answer.at('subsets.0.addresses.0.ip') !== undefined;
      });
    }
    return new WalkedWebhooks(client, Buffer.from(pki.caCertificate).toString('base64'));
  }

  target(path: string, service: Fields = {}): Fields {
    return { caBundle: this.#ca, service: { namespace: HOME, name: SERVICE, path, port: SERVICE_PORT, ...service } };
  }

  async removeService(name: string): Promise<void> {
    await must(200, this.client.typed('DELETE', `/api/v1/namespaces/${HOME}/services/${name}`));
  }

  /** The same without the authority: no call of it can work. */
  unreachable(path: string): Fields {
    const { service } = this.target(path);
    return { service };
  }
}

export async function createNamespace(client: GoClient, name: string, labels: Fields = {}): Promise<void> {
  await must(
    201,
    client.typed('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
  );
}

/** One conformance test: two namespaces, and labels that restrict its webhooks to them. */
export class WebhookWalk {
  readonly name: string;
  readonly client: GoClient;
  readonly #webhooks: WalkedWebhooks;
  #markers = 0;

  private constructor(webhooks: WalkedWebhooks, name: string) {
    this.name = name;
    this.client = webhooks.client;
    this.#webhooks = webhooks;
  }

  static async begin(webhooks: WalkedWebhooks, name: string): Promise<WebhookWalk> {
    await createNamespace(webhooks.client, name);
    const labels = { metadata: { labels: { [name]: 'true' } } };
    await must(
      200,
      webhooks.client.patch(`/api/v1/namespaces/${name}`, 'application/strategic-merge-patch+json', labels),
    );
    await createNamespace(webhooks.client, `${name}-markers`, { [`${name}-markers`]: 'true' });
    return new WebhookWalk(webhooks, name);
  }

  get configMaps(): string {
    return `/api/v1/namespaces/${this.name}/configmaps`;
  }

  /** A webhook of requests in the namespace of this test. */
  hook(name: string, path: string, rule: Fields, more: Fields = {}): Fields {
    return {
      name,
      rules: [rule],
      clientConfig: this.#webhooks.target(path),
      sideEffects: 'None',
      admissionReviewVersions: ['v1', 'v1beta1'],
      namespaceSelector: { matchLabels: { [this.name]: 'true' } },
      ...more,
    };
  }

  unreachable(path: string): Fields {
    return this.#webhooks.unreachable(path);
  }

  denyConfigMaps(): Fields {
    const matchExpressions = [{ key: 'skip-webhook-admission', operator: 'NotIn', values: ['yes'] }];
    return this.hook(
      'deny-unwanted-configmap-data.k8s.io',
      '/configmaps',
      { operations: ['CREATE', 'UPDATE', 'DELETE'], ...CONFIG_MAPS },
      { namespaceSelector: { matchLabels: { [this.name]: 'true' }, matchExpressions } },
    );
  }

  mutateConfigMaps(stage: number, more: Fields = {}): Fields {
    const rule = { operations: ['CREATE'], ...CONFIG_MAPS };
    return this.hook(`adding-configmap-data-stage-${stage}.k8s.io`, '/mutating-configmaps', rule, more);
  }

  /** Denies markers: a denied marker shows that the configuration is in force. */
  marker(type: HookType): Fields {
    return this.hook(
      `${type.toLowerCase()}-is-webhook-configuration-ready.k8s.io`,
      '/always-deny',
      { operations: ['CREATE'], ...CONFIG_MAPS },
      {
        failurePolicy: 'Ignore',
        namespaceSelector: { matchLabels: { [`${this.name}-markers`]: 'true' } },
        objectSelector: { matchLabels: { [this.name]: 'true' } },
      },
    );
  }

  /** Creates the configuration without waiting for it. */
  create(type: HookType, hooks: readonly Fields[], metadata: Fields = {}): Promise<GoAnswer> {
    return this.client.typed('POST', configurationsOf(type), {
      apiVersion: VERSION,
      kind: `${type}WebhookConfiguration`,
      metadata: { name: this.name, ...metadata },
      webhooks: [...hooks, this.marker(type)],
    });
  }

  async register(type: HookType, ...hooks: readonly Fields[]): Promise<void> {
    await must(201, this.create(type, hooks));
    await this.inForce();
  }

  async inForce(): Promise<void> {
    const markers = `/api/v1/namespaces/${this.name}-markers/configmaps`;
    await waitFor('the marker is denied', async () => {
      const name = `marker-${this.#markers++}`;
      const answer = await this.client.typed('POST', markers, configMap(name, {}, { [this.name]: 'true' }));
      if (answer.status !== 201) {
        assert.match(answer.message, /denied/);
        return true;
      }
      await must(200, this.client.typed('DELETE', `${markers}/${name}`));
      return false;
    });
  }

  async unregister(type: HookType): Promise<void> {
    await must(200, this.client.typed('DELETE', configurationsOf(type, this.name)));
  }
}

export const configMap = (name: string, data: Fields = {}, labels: Fields = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels },
  data,
});

const AUTH_READER = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'webhook-auth-reader', annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' } },
  roleRef: { apiGroup: '', kind: 'Role', name: 'extension-apiserver-authentication-reader' },
  subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: HOME }],
};

const secretOf = (certificate: string, key: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'sample-webhook-secret' },
  type: 'Opaque',
  data: {
    'tls.crt': Buffer.from(certificate).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  },
});

function deploymentOf(port: number): object {
  const labels = { app: 'sample-webhook', webhook: 'true' };
  const variable = (name: string, key: string) => ({
    name,
    valueFrom: { secretKeyRef: { name: 'sample-webhook-secret', key } },
  });
  const container = {
    name: 'sample-webhook',
    image: 'node',
    command: [process.execPath, '--input-type=module', '-e', PROGRAM],
    env: [variable('TLS_CRT', 'tls.crt'), variable('TLS_KEY', 'tls.key'), { name: 'PORT', value: String(port) }],
    ports: [{ containerPort: port }],
    readinessProbe: {
      httpGet: { scheme: 'HTTPS', port, path: '/readyz' },
      periodSeconds: 1,
      successThreshold: 1,
      failureThreshold: 30,
    },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'sample-webhook-deployment', labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate' },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  };
}

const serviceOf = (name: string, port: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, labels: { test: 'webhook' } },
  spec: { selector: { webhook: 'true' }, ports: [{ protocol: 'TCP', port: SERVICE_PORT, targetPort: port }] },
});
