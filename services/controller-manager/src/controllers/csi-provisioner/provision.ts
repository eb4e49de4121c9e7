import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  type StorageClass,
  selectedNodeOf,
} from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { isAlreadyExists } from '../../common/writes.ts';
import { type ControllerDriver, type CreatedVolume, DriverError } from '../../csi/port.ts';
import { readSecret } from '../../csi/secrets.ts';
import { storageBytes } from '../../csi/volume-form.ts';
import { buildVolume, driverParameters, fsTypeOf, secretFor, secretRefsOf } from './build-volume.ts';
import { PROVISIONING_FINALIZER, volumeNameFor } from './names.ts';
import { type Topology, topologyFor } from './topology.ts';

export interface Provisioning {
  readonly context: ControllerContext;
  readonly driver: ControllerDriver;
}

/**
 * Makes the volume and its object. Every attempt asks the driver for the same name, so it may be repeated after any
 * failure and after a restart.
 */
export async function provision(
  { context, driver }: Provisioning,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): Promise<void> {
  const { client, events } = context;
  const { provisions, hasTopology } = await driver.abilities();
  if (!provisions) throw new DriverError('the driver makes no volumes: create them by hand', { isRefusal: true });
  const topology = hasTopology ? await placesFor(context, driver.name, claim, storageClass) : undefined;
  const secrets = await readSecret(client, secretFor({ claim, storageClass }, 'provisioner'));
  const secretRefs = secretRefsOf({ claim, storageClass });
  // A late cache may show a claim that is over.
  if (!(await isStillHeld(context, claim))) return;
  const bytes = storageBytes(claim.spec.resources.requests);
  const request = {
    name: volumeNameFor(claim),
    bytes,
    form: {
      volumeMode: claim.spec.volumeMode,
      accessModes: claim.spec.accessModes ?? [],
      fsType: fsTypeOf(storageClass),
      mountOptions: storageClass.mountOptions ?? [],
    },
    parameters: driverParameters(storageClass),
    secrets,
    topology,
  };
  const created = await driver.create(request);
  await refuseSmaller(driver, created, { bytes, secrets });
  const volume = buildVolume({ driver: driver.name, claim, storageClass, created, secretRefs });
  try {
    await client.create(PERSISTENT_VOLUMES, volume);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return;
  }
  const message = `Successfully provisioned volume ${nameOf(volume)}`;
  events.event(claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message });
}

async function isStillHeld({ client }: ControllerContext, claim: PersistentVolumeClaim): Promise<boolean> {
  const live = await client.find(PERSISTENT_VOLUME_CLAIMS, targetOf(claim));
  const isHeld = live?.metadata.finalizers?.includes(PROVISIONING_FINALIZER) === true;
  return isHeld && uidOf(live) === uidOf(claim) && (live.spec.volumeName ?? '') === '';
}

async function placesFor(
  { informers, client }: ControllerContext,
  driver: string,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): Promise<Topology | undefined> {
  const name = selectedNodeOf(claim);
  const selected = name === undefined ? undefined : await client.find(NODES, { name });
  const csiNodes = informers.of(CSI_NODES);
  const all = informers.of(NODES).list();
  const nodes = all.map((node) => ({ node, csiNode: csiNodes.get({ name: nameOf(node) }) }));
  return topologyFor({ driver, claim, storageClass, selected, nodes });
}

/** A pod that finds less room than it asked for fails later and in a worse way. */
async function refuseSmaller(
  driver: ControllerDriver,
  { volumeId, bytes }: CreatedVolume,
  asked: { readonly bytes: number; readonly secrets: Readonly<Record<string, string>> },
): Promise<void> {
  if (bytes === 0 || bytes >= asked.bytes) return;
  const why = `the driver made a volume of ${bytes} bytes instead of ${asked.bytes}`;
  try {
    await driver.delete({ volumeId, secrets: asked.secrets });
  } catch (error) {
    // A refusal would mean that there is no volume.
    throw new DriverError(`${why}, and did not delete it: ${describeError(error)}`, { isRefusal: false });
  }
  throw new DriverError(why, { isRefusal: true });
}
