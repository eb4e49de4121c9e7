import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, type PersistentVolume, PODS, type Pod, type ResourceRef } from '@holdfast/api';
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
