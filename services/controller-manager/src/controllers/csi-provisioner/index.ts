import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import type { ControllerDefinition } from '../../common/context.ts';
import { each } from '../../csi/each-driver.ts';
import type { ControllerDriver } from '../../csi/port.ts';
import { createClaimLoop } from './claims.ts';
import { createVolumeLoop } from './volumes.ts';

/** Has CSI drivers make the volumes of claims, and delete them: the external provisioner of Kubernetes. */
export const csiProvisionerController = (drivers: ReadonlyMap<string, ControllerDriver>): ControllerDefinition => ({
  name: 'csi-provisioner',
  component: 'csi-provisioner',
  identity: 'manager',
  watches: [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, NODES, CSI_NODES, VOLUME_ATTACHMENTS],
  create: (context) =>
    each(drivers).flatMap((driver) => [createClaimLoop(context, driver), createVolumeLoop(context, driver)]),
});
