import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type KubeObject,
  localPathSelector,
  type PersistentVolume,
  PODS,
  type Pod,
  type ResourceRef,
} from '@holdfast/api';
import type { ObjectReader } from '../cache/reader.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { createNodeAuthorizer } from './nodes.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default' },
  spec: {
    nodeName: 'a',
    containers: [],
    volumes: [
      { name: 'config', configMap: { name: 'used' } },
      { name: 'disk', persistentVolumeClaim: { claimName: 'disk' } },
    ],
  },
} as unknown as Pod;

const volume = {
  metadata: { name: 'disk' },
  spec: {
    claimRef: { namespace: 'default', name: 'disk' },
    csi: {
      driver: 'storage.holdfast.io',
      volumeHandle: 'disk',
      volumeAttributes: { server: 's:1' },
      nodePublishSecretRef: { namespace: 'kube-system', name: 'key' },
    },
  },
} as unknown as PersistentVolume;

const STORED: ReadonlyMap<string, KubeObject> = new Map<string, KubeObject>([
  ['persistentvolumeclaims/disk', { metadata: {}, spec: { volumeName: 'disk' } } as unknown as KubeObject],
  ['persistentvolumes/disk', volume],
]);

/** Refuses whole lists: what a kubelet's request costs must not grow with the cluster. */
function indexedReader(): ObjectReader {
  return {
    list: () => assert.fail('a whole list for one request of a kubelet'),
    fresh: () => assert.fail('not read from the store'),
    listFresh: () => assert.fail('not read from the store'),
    recency: { isWithin: () => assert.fail('does not matter') },
    cached: <T extends KubeObject>({ plural }: ResourceRef<T>, { name }: { readonly name: string }) =>
      STORED.get(`${plural}/${name}`) as T | undefined,
    listByField: <T extends KubeObject>(resource: ResourceRef<T>, field: string, value: string): readonly T[] => {
      assert.deepEqual([resource.plural, field], [PODS.plural, 'spec.nodeName']);
      return value === 'a' ? [pod as unknown as T] : [];
    },
  };
}

const get = (resource: string, namespace: string, name: string): ResourceRequest => ({
  kind: 'resource',
  verb: 'get',
  path: '',
  group: '',
  version: 'v1',
  resource,
  namespace,
  name,
  subresource: '',
  rest: '',
});

for (const [resource, namespace, name, allowed] of [
  ['configmaps', 'default', 'used', true],
  ['configmaps', 'default', 'unused', false],
  ['configmaps', 'other', 'used', false],
  ['persistentvolumeclaims', 'default', 'disk', true],
  ['persistentvolumes', '', 'disk', true],
  ['secrets', 'kube-system', 'key', true],
  ['secrets', 'kube-system', 'other', false],
] as const) {
  test(`a kubelet ${allowed ? 'reads' : 'does not read'} ${resource} ${namespace}/${name}, found by its pods`, () => {
    const authorizer = createNodeAuthorizer(indexedReader());
    const as = (node: string) =>
      authorizer.authorize({ name: `system:node:${node}`, groups: ['system:nodes'] }, get(resource, namespace, name));
    assert.equal(as('a') !== undefined, allowed);
    assert.equal(as('b'), undefined);
  });
}

/** A right of node a for each resource, in the group that has it. */
const RIGHTS: readonly (readonly [verb: string, group: string, resource: string, where?: Partial<ResourceRequest>])[] =
  [
    ['list', '', 'services'],
    ['create', '', 'nodes'],
    ['get', '', 'nodes', { name: 'a' }],
    ['patch', '', 'nodes', { name: 'a', subresource: 'status' }],
    ['create', '', 'pods', { namespace: 'default' }],
    ['list', '', 'pods', { fieldSelector: 'spec.nodeName=a' }],
    ['patch', '', 'pods', { namespace: 'default', name: 'p', subresource: 'status' }],
    ['get', '', 'configmaps', { namespace: 'default', name: 'used' }],
    ['get', '', 'secrets', { namespace: 'kube-system', name: 'key' }],
    ['get', '', 'persistentvolumeclaims', { namespace: 'default', name: 'disk' }],
    ['patch', '', 'persistentvolumeclaims', { namespace: 'default', name: 'disk', subresource: 'status' }],
    ['get', '', 'persistentvolumes', { name: 'disk' }],
    ['list', '', 'persistentvolumes', { labelSelector: localPathSelector('a') }],
    ['get', '', 'endpoints', { namespace: 'default', name: 'e' }],
    ['create', '', 'serviceaccounts', { namespace: 'default', name: 'default', subresource: 'token' }],
    ['create', '', 'events', { namespace: 'default' }],
    ['create', 'events.k8s.io', 'events', { namespace: 'default' }],
    ['create', 'authentication.k8s.io', 'tokenreviews'],
    ['create', 'authorization.k8s.io', 'subjectaccessreviews'],
    ['create', 'authorization.k8s.io', 'localsubjectaccessreviews', { namespace: 'default' }],
    ['create', 'certificates.k8s.io', 'certificatesigningrequests'],
    ['update', 'coordination.k8s.io', 'leases', { namespace: 'kube-node-lease', name: 'a' }],
    ['watch', 'node.k8s.io', 'runtimeclasses'],
    ['watch', 'storage.k8s.io', 'csidrivers'],
    ['update', 'storage.k8s.io', 'csinodes', { name: 'a' }],
    ['get', 'storage.k8s.io', 'volumeattachments', { name: 'gone' }],
  ];

for (const [verb, group, resource, where] of RIGHTS) {
  test(`a kubelet's ${verb} of ${resource} is for group "${group}", not for custom kinds with the same plural`, () => {
    const request = { ...get(resource, '', ''), verb, ...where };
    const may = (asked: string): boolean =>
      createNodeAuthorizer(indexedReader()).authorize(
        { name: 'system:node:a', groups: ['system:nodes'] },
        { ...request, group: asked },
      ) !== undefined;
    assert.ok(may(group));
    assert.deepEqual(['serving.knative.dev', 'metrics.k8s.io', 'apps'].filter(may), []);
  });
}
