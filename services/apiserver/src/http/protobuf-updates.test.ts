import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { decodeProtobufObject } from '@holdfast/api/protobuf';
import { eventually } from '@holdfast/platform/contract';
import { type Answer, requestOf, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { PROTOBUF } from '../testing/protobuf.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const send = async (method: 'GET' | 'PUT', url: string, body?: Uint8Array): Promise<Uint8Array> => {
  const request = requestOf(method, url, { headers: { accept: PROTOBUF, 'content-type': PROTOBUF } });
  const answer = await api.server.handle(body === undefined ? request : { ...request, body });
  assert.ok(answer.body.kind === 'json');
  assert.equal(answer.status, 200, JSON.stringify(answer.body.value()));
  return answer.body.bytes();
};

const template = {
  metadata: { labels: { a: 'b' } },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'i',
        env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        resources: { requests: { cpu: '100m' } },
        livenessProbe: { httpGet: { port: 'web' }, initialDelaySeconds: 3 },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      },
    ],
    volumes: [{ name: 'v', emptyDir: {} }],
    securityContext: { runAsUser: 0 },
  },
};
const selector = { matchLabels: { a: 'b' } };
const claim = {
  metadata: { name: 'd' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const IN_DEFAULT: readonly (readonly [api: string, plural: string, object: object])[] = [
  ['/api/v1', 'pods', { spec: template.spec }],
  ['/api/v1', 'services', { spec: { selector: { a: 'b' }, ports: [{ port: 80, targetPort: 'web' }] } }],
  ['/api/v1', 'secrets', { data: { k: '', l: 'dmFsdWU=' } }],
  ['/api/v1', 'persistentvolumeclaims', { spec: claim.spec }],
  ['/api/v1', 'podtemplates', { template }],
  ['/apis/apps/v1', 'deployments', { spec: { selector, template, replicas: 0 } }],
  ['/apis/apps/v1', 'statefulsets', { spec: { selector, template, serviceName: 's', volumeClaimTemplates: [claim] } }],
  ['/apis/apps/v1', 'daemonsets', { spec: { selector, template } }],
  ['/apis/apps/v1', 'controllerrevisions', { revision: 1, data: { spec: { a: [1, null, 'x'] } } }],
  [
    '/apis/batch/v1',
    'cronjobs',
    {
      spec: {
        schedule: '* * * * *',
        jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
      },
    },
  ],
  [
    '/apis/coordination.k8s.io/v1',
    'leases',
    { spec: { leaseDurationSeconds: 5, renewTime: '2023-11-14T22:13:20.000005Z' } },
  ],
  [
    '/apis/networking.k8s.io/v1',
    'networkpolicies',
    { spec: { podSelector: {}, ingress: [{}], policyTypes: ['Ingress'] } },
  ],
  [
    '/apis/autoscaling/v2',
    'horizontalpodautoscalers',
    { spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 3 } },
  ],
  ['/apis/policy/v1', 'poddisruptionbudgets', { spec: { selector: {}, minAvailable: 0 } }],
];

const openAPIV3Schema = {
  type: 'object',
  properties: { spec: { type: 'object', additionalProperties: { type: 'string', default: '' } } },
};
const CUSTOM = {
  group: 'example.com',
  names: { plural: 'as', kind: 'A' },
  scope: 'Namespaced',
  versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, subresources: { status: {} } }],
};
const CLUSTER_WIDE: readonly (readonly [api: string, plural: string, object: object, name?: string])[] = [
  ['/api/v1', 'nodes', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }],
  ['/api/v1', 'namespaces', {}],
  [
    '/api/v1',
    'persistentvolumes',
    { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/a' } } },
  ],
  ['/apis/rbac.authorization.k8s.io/v1', 'clusterroles', { rules: [{ verbs: ['get'], nonResourceURLs: ['/a'] }] }],
  ['/apis/scheduling.k8s.io/v1', 'priorityclasses', { value: -7 }],
  [
    '/apis/storage.k8s.io/v1',
    'storageclasses',
    { provisioner: 'p', parameters: { a: '' }, allowVolumeExpansion: false },
  ],
  ['/apis/apiextensions.k8s.io/v1', 'customresourcedefinitions', { spec: CUSTOM }, 'as.example.com'],
  [
    '/apis/apiregistration.k8s.io/v1',
    'apiservices',
    {
      spec: {
        group: 'example.com',
        version: 'v1',
        groupPriorityMinimum: 5,
        versionPriority: 6,
        service: { namespace: 'a', name: 'b' },
        insecureSkipTLSVerify: true,
      },
    },
    'v1.example.com',
  ],
];

interface Place {
  readonly url: string;
  readonly object: object;
  readonly name?: string | undefined;
}

/** The server itself writes the status of these; after that they rest. */
const LAST_CONDITIONS: ReadonlyMap<string, string> = new Map([
  ['customresourcedefinitions', 'Established True'],
  ['apiservices', 'Available False'],
]);

async function settled(url: string, condition: string): Promise<Answer> {
  const look = async (): Promise<Answer | false> => {
    const read = await api.call('GET', url);
    const conditions = (read.at('status.conditions') ?? []) as readonly { type: string; status: string }[];
    return conditions.some(({ type, status }) => `${type} ${status}` === condition) && read;
  };
  return eventually(look, `${url} has ${condition}`, { pollMs: 1 });
}

async function isUnchanged({ url, object, name = 'x' }: Place): Promise<void> {
  const made = await api.call('POST', url, { body: { metadata: { name }, ...object } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const condition = LAST_CONDITIONS.get(url.slice(url.lastIndexOf('/') + 1));
  const created = condition === undefined ? made : await settled(`${url}/${name}`, condition);
  const read = await send('GET', `${url}/${name}`);
  const written = decodeProtobufObject(await send('PUT', `${url}/${name}`, read));
  assert.equal(valueAt(written, 'metadata.resourceVersion'), created.at('metadata.resourceVersion'));
  assert.deepEqual((await api.call('GET', `${url}/${name}`)).body, created.body);
}

for (const [root, plural, object] of IN_DEFAULT) {
  test(`${plural}: an object that a Go client reads and sends back changes nothing`, () =>
    isUnchanged({ url: `${root}/namespaces/default/${plural}`, object }));
}

for (const [root, plural, object, name] of CLUSTER_WIDE) {
  test(`${plural}: an object that a Go client reads and sends back changes nothing`, () =>
    isUnchanged({ url: `${root}/${plural}`, object, name }));
}
