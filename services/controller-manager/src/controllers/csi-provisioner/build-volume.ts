import {
  isTerminating,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PROVISIONED_BY_ANNOTATION,
  type StorageClass,
  storageClassOf,
} from '@holdfast/api';
import { formatQuantity, ownValue, quantityOfUnits } from '@holdfast/machinery';
import { nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { type CreatedVolume, DriverError, type Segments, type Texts } from '../../csi/port.ts';
import { HELPER_PARAMETERS, type SecretPlace, type SecretUse, secretPlace } from '../../csi/secrets.ts';
import { storageBytes } from '../../csi/volume-form.ts';
import { DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE, PROVISIONER_FINALIZER, volumeNameFor } from './names.ts';

export interface VolumeParts {
  readonly driver: string;
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly created: CreatedVolume;
  readonly secretRefs: SecretRefs;
}

/** What the driver is told of the class: not the parameters for its helpers. */
export const driverParameters = ({ parameters = {} }: StorageClass): Texts =>
  Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith(HELPER_PARAMETERS)));

export const fsTypeOf = ({ parameters = {} }: StorageClass): string | undefined =>
  ownValue(parameters, `${HELPER_PARAMETERS}fstype`);

/** The object of a volume that the driver has made. */
export function buildVolume({ driver, claim, storageClass, created, secretRefs }: VolumeParts): PersistentVolume {
  const policy = storageClass.reclaimPolicy ?? 'Delete';
  const deletion = secretFor({ claim, storageClass }, 'provisioner');
  const { mountOptions = [] } = storageClass;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volumeNameFor(claim),
      annotations: {
        [PROVISIONED_BY_ANNOTATION]: driver,
        ...(deletion === undefined
          ? {}
          : { [DELETION_SECRET_NAME]: deletion.name, [DELETION_SECRET_NAMESPACE]: deletion.namespace }),
      },
      ...(policy === 'Delete' ? { finalizers: [PROVISIONER_FINALIZER] } : {}),
    },
    spec: {
      accessModes: claim.spec.accessModes ?? [],
      capacity: { storage: capacityOf(claim, created) },
      claimRef: referenceTo(claim),
      csi: sourceOf({ driver, claim, storageClass, created, secretRefs }),
      persistentVolumeReclaimPolicy: policy,
      storageClassName: storageClassOf(claim),
      volumeMode: claim.spec.volumeMode ?? 'Filesystem',
      ...(mountOptions.length === 0 ? {} : { mountOptions }),
      ...(created.topology.length === 0 ? {} : { nodeAffinity: affinityOf(created.topology) }),
    },
    status: { phase: 'Pending' },
  };
}

function sourceOf({
  driver,
  claim,
  storageClass,
  created,
  secretRefs,
}: VolumeParts): NonNullable<PersistentVolume['spec']['csi']> {
  const fsType = claim.spec.volumeMode === 'Block' ? undefined : fsTypeOf(storageClass);
  return {
    driver,
    volumeHandle: created.volumeId,
    ...(Object.keys(created.context).length === 0 ? {} : { volumeAttributes: { ...created.context } }),
    ...(fsType === undefined ? {} : { fsType }),
    ...secretRefs,
  };
}

const SECRET_REFS = {
  controllerPublishSecretRef: 'controller-publish',
  controllerExpandSecretRef: 'controller-expand',
  nodeStageSecretRef: 'node-stage',
  nodePublishSecretRef: 'node-publish',
  nodeExpandSecretRef: 'node-expand',
} as const satisfies Record<string, SecretUse>;

export type SecretRefs = Readonly<Partial<Record<keyof typeof SECRET_REFS, SecretPlace>>>;

/**
 * Where the volume's secrets are. Throws when the class names one that cannot be read: to be called before the driver makes
 * anything. A claim that is over may have lost the annotations that name them; its volume is reclaimed without them.
 */
export function secretRefsOf(of: Pick<VolumeParts, 'claim' | 'storageClass'>): SecretRefs {
  const refs = Object.entries(SECRET_REFS).flatMap(([field, use]) => {
    const place = isTerminating(of.claim) ? readableSecret(of, use) : secretFor(of, use);
    return place === undefined ? [] : [[field, place] as const];
  });
  return Object.fromEntries(refs);
}

function readableSecret(of: Pick<VolumeParts, 'claim' | 'storageClass'>, use: SecretUse): SecretPlace | undefined {
  try {
    return secretFor(of, use);
  } catch (error) {
    if (error instanceof DriverError) return undefined;
    throw error;
  }
}

export const secretFor = (
  { claim, storageClass }: Pick<VolumeParts, 'claim' | 'storageClass'>,
  use: SecretUse,
): SecretPlace | undefined =>
  secretPlace(storageClass.parameters ?? {}, use, { claim, volumeName: volumeNameFor(claim) });

function capacityOf({ spec }: PersistentVolumeClaim, { bytes }: CreatedVolume): string {
  const { requests } = spec.resources;
  const asked = requests?.['storage'] ?? '0';
  return bytes === 0 || bytes === storageBytes(requests) ? asked : formatQuantity(quantityOfUnits(bytes, 'BinarySI'));
}

const referenceTo = (claim: PersistentVolumeClaim) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  namespace: namespaceOf(claim),
  name: nameOf(claim),
  uid: uidOf(claim),
});

const affinityOf = (topology: readonly Segments[]) => ({
  required: {
    nodeSelectorTerms: topology.map((segments) => ({
      matchExpressions: Object.entries(segments).map(([key, text]) => ({ key, operator: 'In', values: [text] })),
    })),
  },
});
