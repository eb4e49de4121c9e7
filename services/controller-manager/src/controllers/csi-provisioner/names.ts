import type { PersistentVolumeClaim } from '@holdfast/api';
import { uidOf } from '../../common/meta.ts';

/** Keeps a claim until it is known whether its driver has made a volume for it. */
export const PROVISIONING_FINALIZER = 'holdfast.io/csi-provisioning';

/** Keeps a volume until its driver has deleted it. That of the external provisioner. */
export const PROVISIONER_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';

export const DELETION_SECRET_NAME = 'volume.kubernetes.io/provisioner-deletion-secret-name';
export const DELETION_SECRET_NAMESPACE = 'volume.kubernetes.io/provisioner-deletion-secret-namespace';

/** Everybody who provisions for the claim asks for the same name, of the driver and of the API. */
export const volumeNameFor = (claim: PersistentVolumeClaim): string => `pvc-${uidOf(claim)}`;

export interface ProvisionerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}
