import type { KubeObject } from '@holdfast/api';
import { controllerOf, namespaceOf } from './meta.ts';

/** Indexes that every cache has. */
export const CACHE_INDEXES = {
  /** By the uid of the managing controller. */
  controller: (object: KubeObject): readonly string[] => {
    const controller = controllerOf(object);
    return controller === undefined ? [] : [controller.uid];
  },
  /** By namespace, objects that no controller manages. */
  orphan: (object: KubeObject): readonly string[] => (controllerOf(object) === undefined ? [namespaceOf(object)] : []),
  /** By the uid of each owner. */
  owner: (object: KubeObject): readonly string[] =>
    (object.metadata.ownerReferences ?? []).map((reference) => reference.uid),
  /** Pods by the node they are bound to. */
  node: (object: KubeObject): readonly string[] => nodeNameOf(object),
  uid: (object: KubeObject): readonly string[] => [object.metadata.uid ?? ''],
} as const;

function nodeNameOf(object: KubeObject): readonly string[] {
  if (object.kind !== 'Pod' || !('spec' in object)) return [];
  const { spec } = object;
  const isBound = typeof spec === 'object' && spec !== null && 'nodeName' in spec && typeof spec.nodeName === 'string';
  return isBound && spec.nodeName !== '' ? [String(spec.nodeName)] : [];
}
