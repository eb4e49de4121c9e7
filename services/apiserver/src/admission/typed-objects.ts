import type { KubeObject, Lease, Node, PersistentVolume, PersistentVolumeClaim, Pod } from '@holdfast/api';

/** The pipeline has already checked kind and field types: these give the object its static type. */
export const asPod = (object: KubeObject): Pod => object as Pod;
export const asLease = (object: KubeObject): Lease => object as Lease;
export const asNode = (object: KubeObject): Node => object as Node;
export const asVolume = (object: KubeObject): PersistentVolume => object as PersistentVolume;
export const asClaim = (object: KubeObject): PersistentVolumeClaim => object as PersistentVolumeClaim;
