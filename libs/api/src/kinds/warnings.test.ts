import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeWithSchema, type JsonObject } from '@holdfast/machinery';
import { findResource } from '../registry.ts';
import type { KubeObject } from '../resource.ts';
import { schemaFor } from '../schema-table.ts';

interface Said {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function warningsOf(document: JsonObject, old?: KubeObject): readonly string[] {
  const kind = text(document['kind']);
  const parts = text(document['apiVersion']).split('/');
  const [group = '', version = ''] = parts.length === 2 ? parts : ['', ...parts];
  const definition = findResource(group, version, `${kind.toLowerCase()}s`);
  const schema = schemaFor(group, version, kind);
  assert.ok(definition !== undefined && schema !== undefined, kind);
  const object = decodeWithSchema(document, schema).value as unknown as KubeObject;
  definition.setDefaults(object);
  return definition.strategy.warnings?.(object, old) ?? [];
}

const container = (more: JsonObject = {}): JsonObject => ({ name: 'c', image: 'i', ...more });
const pod = (spec: JsonObject, annotations: JsonObject = {}, name = 'p'): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations },
  spec: { containers: [container()], ...spec },
});
const compare = (said: readonly Said[]): void => {
  for (const { object, warnings } of said) assert.deepEqual(warningsOf(object), warnings, JSON.stringify(object));
};

const NO_SELECTOR = 'a null labelSelector results in matching no pod';

test('pods: discouraged but accepted fields cause the warnings of Kubernetes', () => {
  const ports = [
    { containerPort: 80 },
    { containerPort: 80, hostPort: 1 },
    { containerPort: 81, hostIP: '1.2.3.4' },
    { containerPort: 82, hostPort: 2, hostIP: '1.2.3.4' },
    { containerPort: 82, hostPort: 2 },
  ];
  const env = [
    { name: 'A', value: '1' },
    { name: 'A', value: '$(A)2' },
    { name: 'A', value: '$(A)' },
  ];
  compare([
    { object: pod({}), warnings: [] },
    {
      object: pod({
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['-no label-'] }] } },
            ],
          },
        },
      }),
      warnings: [],
    },
    {
      object: pod({}, {}, 'a.b'),
      warnings: [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
      ],
    },
    {
      object: pod({ imagePullSecrets: [{ name: 'a' }, { name: '' }, { name: 'a' }] }),
      warnings: [
        'spec.imagePullSecrets[2].name: duplicate name "a"',
        'spec.imagePullSecrets[1].name: invalid empty name ""',
      ],
    },
    {
      object: pod({ hostAliases: [{ ip: '1.2.3.4' }, { ip: '1.2.3.4' }] }),
      warnings: ['spec.hostAliases[1].ip: duplicate ip "1.2.3.4"'],
    },
    {
      object: pod({ nodeSelector: { 'beta.kubernetes.io/instance-type': 'x', 'node-role.kubernetes.io/master': '' } }),
      warnings: [
        'spec.nodeSelector[beta.kubernetes.io/instance-type]: deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
        'spec.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead',
      ],
    },
    {
      object: pod({ topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'beta.kubernetes.io/os' }] }),
      warnings: [
        'spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
        `spec.topologySpreadConstraints[0].labelSelector: ${NO_SELECTOR}`,
      ],
    },
    {
      object: pod({
        affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a' }] } },
      }),
      warnings: [
        `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: ${NO_SELECTOR}`,
      ],
    },
    {
      object: pod({ containers: [container({ ports })] }),
      warnings: [
        'spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
        'spec.containers[0].ports[2]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:81 Protocol:TCP HostIP:1.2.3.4}',
        'spec.containers[0].ports[4]: dangerously ambiguous port definition with spec.containers[0].ports[3]',
      ],
    },
    {
      object: pod({ containers: [container({ env, resources: { limits: { memory: '1500m' } } })] }),
      warnings: [
        'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
        'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer',
        'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
      ],
    },
    {
      object: pod({
        volumes: [
          { name: 't', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
          { name: 's', projected: { sources: [{ secret: { name: 'x', items: [{ key: 'k', path: 'token' }] } }] } },
          { name: 'o', storageos: {} },
        ],
      }),
      warnings: [
        'spec.volumes[2].storageOS: deprecated in v1.22, non-functional in v1.25+',
        'spec.volumes[1].projected.sources.secrets[0]: has duplicated path with ServiceAccountToken "token"',
      ],
    },
  ]);
});

test('an update of a pod does not repeat its warnings', () => {
  const object = pod({ terminationGracePeriodSeconds: -1 });
  assert.equal(warningsOf(object).length, 1);
  assert.deepEqual(warningsOf(object, object as unknown as KubeObject), []);
});

test('kinds with a pod template warn at the path of their template, except when only their status changes', () => {
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [container()], terminationGracePeriodSeconds: -1 },
  };
  const said = 'terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1';
  const named =
    'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]';
  const owner = (apiVersion: string, kind: string, body: JsonObject): JsonObject => ({
    apiVersion,
    kind,
    metadata: { name: 'a.b', generation: 1 },
    ...body,
  });
  const inSpec = { spec: { template } };
  compare([
    { object: owner('apps/v1', 'Deployment', inSpec), warnings: [named, `spec.template.spec.${said}`] },
    { object: owner('apps/v1', 'ReplicaSet', inSpec), warnings: [named, `spec.template.spec.${said}`] },
    { object: owner('v1', 'ReplicationController', inSpec), warnings: [named, `spec.template.spec.${said}`] },
    { object: owner('apps/v1', 'DaemonSet', inSpec), warnings: [`spec.template.spec.${said}`] },
    { object: owner('apps/v1', 'StatefulSet', inSpec), warnings: [`spec.template.spec.${said}`] },
    { object: owner('batch/v1', 'Job', inSpec), warnings: [named, `spec.template.spec.${said}`] },
    { object: owner('v1', 'PodTemplate', { template }), warnings: [`template.spec.${said}`] },
    {
      object: owner('batch/v1', 'CronJob', { spec: { schedule: '* * * * *', jobTemplate: inSpec } }),
      warnings: [named, `spec.jobTemplate.spec.template.spec.${said}`],
    },
  ]);
  const deployment = owner('apps/v1', 'Deployment', inSpec);
  assert.deepEqual(warningsOf(deployment, deployment as unknown as KubeObject), []);
});

const mountable = (value: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'x', annotations: { 'kubernetes.io/enforce-mountable-secrets': value } },
});

test('deprecated or ignored fields of storage, services and accounts cause warnings', () => {
  const object = (apiVersion: string, kind: string, spec: JsonObject, annotations: JsonObject = {}): JsonObject => ({
    apiVersion,
    kind,
    metadata: { name: 'n', annotations },
    spec,
  });
  const storageClass = 'volume.beta.kubernetes.io/storage-class';
  compare([
    {
      object: object(
        'v1',
        'PersistentVolumeClaim',
        { resources: { requests: { storage: '1500m' } } },
        { [storageClass]: 'x' },
      ),
      warnings: [
        `metadata.annotations[${storageClass}]: deprecated since v1.8; use "storageClassName" attribute instead`,
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      ],
    },
    {
      object: object('v1', 'Service', { clusterIP: 'None', sessionAffinity: 'ClientIP', externalName: 'x' }),
      warnings: ['spec.externalName is ignored when spec.type is not "ExternalName"'],
    },
    {
      object: object('v1', 'Service', {
        type: 'LoadBalancer',
        externalIPs: ['010.0.0.1', '2001:DB8::1'],
        loadBalancerSourceRanges: ['010.0.0.0/8', '2001:DB8::/32'],
      }),
      warnings: [
        'spec.externalIPs[0]: IP address was accepted, but will be invalid in a future Kubernetes release: ParseAddr("010.0.0.1"): IPv4 field has octet with leading zero',
        'spec.externalIPs[1]: IPv6 address "2001:DB8::1" is not in RFC 5952 canonical format ("2001:db8::1"), which may cause controller apply-loops',
        'spec.loadBalancerSourceRanges[0]: IP prefix was accepted, but will be invalid in a future Kubernetes release: netip.ParsePrefix("010.0.0.0/8"): ParseAddr("010.0.0.0"): IPv4 field has octet with leading zero',
        'spec.loadBalancerSourceRanges[1]: IPv6 prefix "2001:DB8::/32" is not in RFC 5952 canonical format ("2001:db8::/32"), which may cause controller apply-loops',
      ],
    },
    {
      object: object('v1', 'PersistentVolume', { persistentVolumeReclaimPolicy: 'Recycle' }),
      warnings: [
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      ],
    },
    {
      object: object('v1', 'Node', { externalID: 'x' }),
      warnings: ['spec.externalID: this field is deprecated, and is unused by Kubernetes'],
    },
    {
      object: mountable('true'),
      warnings: [
        'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
      ],
    },
  ]);
  // An unchanged annotation causes no second warning.
  assert.deepEqual(warningsOf(mountable('false'), mountable('true') as unknown as KubeObject), []);
});
