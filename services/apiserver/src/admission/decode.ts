import type { KubeObject, Lease, Node, PersistentVolume, Pod } from '@holdfast/api';

/** The pipeline has already checked kind and field types: these give the object its static type. */
export const decodePod = (object: KubeObject): Pod => object as Pod;
export const decodeLease = (object: KubeObject): Lease => object as Lease;
export const decodeNode = (object: KubeObject): Node => object as Node;
export const decodeVolume = (object: KubeObject): PersistentVolume => object as PersistentVolume;
