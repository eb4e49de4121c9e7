import type { KubeObject, ObjectMeta, OwnerReference, ResourceRef } from '@holdfast/api';
import type { Target } from '@holdfast/client';
import { invariant, parseTime } from '@holdfast/platform';

export { isTerminating } from '@holdfast/api';

/** Stored objects always carry these three; the types leave them optional because a client may leave them out at create. */
export function nameOf(object: { readonly metadata: ObjectMeta }): string {
  const name = object.metadata.name;
  invariant(name !== undefined && name !== '', 'a stored object has a name');
  return name;
}

export function uidOf(object: { readonly metadata: ObjectMeta }): string {
  const uid = object.metadata.uid;
  invariant(uid !== undefined && uid !== '', 'a stored object has a uid', { name: object.metadata.name });
  return uid;
}

export const namespaceOf = (object: { readonly metadata: ObjectMeta }): string => object.metadata.namespace ?? '';

/** `namespace/name`, or `name` for cluster-scoped objects: the key form of informers and work queues. */
export function keyOf(object: { readonly metadata: ObjectMeta }): string {
  const namespace = namespaceOf(object);
  return namespace === '' ? nameOf(object) : `${namespace}/${nameOf(object)}`;
}

export function targetOf(object: { readonly metadata: ObjectMeta }): Target {
  return toTarget(namespaceOf(object), nameOf(object));
}

export const toTarget = (namespace: string, name: string): Target =>
  namespace === '' ? { name } : { namespace, name };

export function parseKey(key: string): Target {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Resource versions are numbers of one global revision, so they can be ordered (across kinds as well). */
export function revisionOf(object: { readonly metadata: ObjectMeta }): number {
  const revision = Number(object.metadata.resourceVersion);
  invariant(Number.isSafeInteger(revision), 'a stored object has a numeric resourceVersion', {
    resourceVersion: object.metadata.resourceVersion,
  });
  return revision;
}

export const generationOf = (object: { readonly metadata: ObjectMeta }): number => object.metadata.generation ?? 0;

/** Epoch milliseconds; 0 when absent or unreadable, which sorts before everything. */
export const timeOf = (text: string | undefined): number => (text === undefined ? 0 : (parseTime(text) ?? 0));

export const createdAt = (object: { readonly metadata: ObjectMeta }): number =>
  timeOf(object.metadata.creationTimestamp);

export const controllerOf = (object: { readonly metadata: ObjectMeta }): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true);

export const isControlledBy = (object: { readonly metadata: ObjectMeta }, ownerUid: string): boolean =>
  controllerOf(object)?.uid === ownerUid;

export const apiVersionOf = (resource: Pick<ResourceRef, 'group' | 'version'>): string =>
  resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;

export function controllerReference(
  owner: { readonly metadata: ObjectMeta },
  type: { readonly apiVersion: string; readonly kind: string },
): OwnerReference {
  return {
    apiVersion: type.apiVersion,
    kind: type.kind,
    name: nameOf(owner),
    uid: uidOf(owner),
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** A copy with `reference` added; the write that stores it compares the resourceVersion of `object`. */
export function withOwner<T extends KubeObject>(object: T, reference: OwnerReference): T {
  const others = (object.metadata.ownerReferences ?? []).filter((existing) => existing.uid !== reference.uid);
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } };
}

/** A copy without the references to these owners. */
export function withoutOwners<T extends KubeObject>(object: T, ownerUids: ReadonlySet<string>): T {
  const kept = (object.metadata.ownerReferences ?? []).filter((existing) => !ownerUids.has(existing.uid));
  const { ownerReferences: _dropped, ...rest } = object.metadata;
  return { ...object, metadata: kept.length === 0 ? rest : { ...rest, ownerReferences: kept } };
}

export function byName(a: { readonly metadata: ObjectMeta }, b: { readonly metadata: ObjectMeta }): number {
  return compareText(nameOf(a), nameOf(b));
}

/** Code-unit order: the same on every machine. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
