import {
  HOSTNAME_LABEL,
  isHollowNode,
  LOCAL_PATH_FINALIZER,
  LOCAL_PATH_NODE_ATTRIBUTE,
  LOCAL_PATH_NODE_LABEL,
  LOCAL_PATH_PROVISIONER,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PROVISIONED_BY_ANNOTATION,
  type StorageClass,
  storageClassOf,
} from '@holdfast/api';
import { nameOf, namespaceOf, uidOf } from '../../common/meta.ts';

export interface VolumeParts {
  readonly name: string;
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly node: Node;
}

/** It has no path: the node keeps the directory under the uid of this object. */
export function buildVolume({ name, claim, storageClass, node }: VolumeParts): PersistentVolume {
  const { accessModes = [], resources } = claim.spec;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      labels: { [LOCAL_PATH_NODE_LABEL]: nameOf(node) },
      annotations: { [PROVISIONED_BY_ANNOTATION]: LOCAL_PATH_PROVISIONER },
      // A node that only simulates pods has no directory to remove.
      ...(isHollowNode(node) ? {} : { finalizers: [LOCAL_PATH_FINALIZER] }),
    },
    spec: {
      accessModes,
      capacity: { storage: resources.requests?.['storage'] ?? '0' },
      claimRef: referenceTo(claim),
      csi: {
        driver: LOCAL_PATH_PROVISIONER,
        volumeHandle: name,
        volumeAttributes: { [LOCAL_PATH_NODE_ATTRIBUTE]: nameOf(node) },
      },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onlyOn(node)] }] } },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClassOf(claim),
      volumeMode: 'Filesystem',
    },
    status: { phase: 'Pending' },
  };
}

const referenceTo = (claim: PersistentVolumeClaim) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  namespace: namespaceOf(claim),
  name: nameOf(claim),
  uid: uidOf(claim),
});

const onlyOn = (node: Node) => ({
  key: HOSTNAME_LABEL,
  operator: 'In',
  values: [node.metadata.labels?.[HOSTNAME_LABEL] ?? nameOf(node)],
});
