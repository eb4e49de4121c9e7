import {
  NODES,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PROVISIONED_BY_ANNOTATION,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { ownValue } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, Loop } from '../../common/context.ts';
import { withoutFinalizer } from '../../common/finalizers.ts';
import { nameOf, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { DriverRetries } from '../../csi/driver-retries.ts';
import type { ControllerDriver } from '../../csi/port.ts';
import { readSecret, type SecretPlace } from '../../csi/secrets.ts';
import { ATTACH_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decideVolume, isProvisionedBy, type VolumeAction } from './decide-volume.ts';
import { DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE, PROVISIONER_FINALIZER } from './names.ts';

/** Defined in the cache indexes. */
const OF_VOLUME = 'ofVolume';

interface Tools {
  readonly context: ControllerContext;
  readonly driver: ControllerDriver;
  readonly retries: DriverRetries;
}

export function createVolumeLoop(context: ControllerContext, drivers: ReadonlyMap<string, ControllerDriver>): Loop {
  const { informers, clock } = context;
  const volumes = informers.of(PERSISTENT_VOLUMES);
  const retries = new DriverRetries(clock);
  const driverOf = (volume: PersistentVolume): ControllerDriver | undefined => {
    const driver = drivers.get(volume.metadata.annotations?.[PROVISIONED_BY_ANNOTATION] ?? '');
    return driver !== undefined && isProvisionedBy(volume, driver.name) ? driver : undefined;
  };
  return {
    name: 'csi-provisioner-volumes',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () =>
      volumes
        .list()
        .filter((volume) => driverOf(volume) !== undefined)
        .map(nameOf),
    wake: (enqueue) => [
      volumes.onChange(({ key, object }) => {
        if (object === undefined) retries.forget(key);
        else if (driverOf(object) !== undefined) enqueue(key);
      }),
      informers.of(VOLUME_ATTACHMENTS).onChange(({ object, old }) => {
        const name = old?.spec.source.persistentVolumeName;
        if (object === undefined && name !== undefined) enqueue(name);
      }),
    ],
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      const driver = volume === undefined ? undefined : driverOf(volume);
      if (volume === undefined || driver === undefined) return {};
      const attachments = informers.of(VOLUME_ATTACHMENTS).byIndex(OF_VOLUME, name);
      const action = decideVolume({ driver: driver.name, volume, attachments, nodes: informers.of(NODES).list() });
      return apply({ context, driver, retries }, volume, action);
    },
  };
}

async function apply(tools: Tools, volume: PersistentVolume, action: VolumeAction): Promise<ReconcileResult> {
  const { client } = tools.context;
  switch (action.kind) {
    case 'none':
      return {};
    case 'wait':
      return { requeueAfterMs: ATTACH_RECHECK_MS };
    case 'update':
      await unlessChanged(() => client.update(PERSISTENT_VOLUMES, action.volume));
      return {};
    case 'delete-object': {
      const { resourceVersion } = volume.metadata;
      const precondition = { uid: uidOf(volume), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      await unlessChanged(() => client.delete(PERSISTENT_VOLUMES, { name: nameOf(volume) }, precondition));
      return {};
    }
    case 'delete-volume':
      return tried(tools, volume);
  }
}

const DELETE = 'delete';

async function tried(tools: Tools, volume: PersistentVolume): Promise<ReconcileResult> {
  const { context, retries } = tools;
  const key = nameOf(volume);
  const waitMs = retries.waitMs(key, DELETE);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  try {
    const result = await deleteVolume(tools, volume);
    retries.forget(key);
    return result;
  } catch (error) {
    const message = `rpc to delete volume "${key}" failed: ${describeError(error)}`;
    context.events.event(volume, { type: 'Warning', reason: 'VolumeFailedDelete', message });
    return { requeueAfterMs: retries.failed(key, DELETE, error) };
  }
}

/** What is deleted cannot be had again: everything that speaks against it is read from the API first. */
async function deleteVolume(
  { context: { client }, driver }: Tools,
  { metadata }: PersistentVolume,
): Promise<ReconcileResult> {
  const volume = await client.find(PERSISTENT_VOLUMES, { name: metadata.name ?? '' });
  if (volume === undefined || volume.metadata.uid !== metadata.uid) return {};
  const { items: attachments } = await client.list(VOLUME_ATTACHMENTS);
  const { items: nodes } = await client.list(NODES);
  const action = decideVolume({ driver: driver.name, volume, attachments, nodes });
  if (action.kind !== 'delete-volume') return { requeueAfterMs: ATTACH_RECHECK_MS };
  const secrets = await readSecret(client, deletionSecret(volume));
  await driver.delete({ volumeId: volume.spec.csi?.volumeHandle ?? '', secrets });
  const free = withoutFinalizer(volume, PROVISIONER_FINALIZER);
  if (free !== undefined) await unlessChanged(() => client.update(PERSISTENT_VOLUMES, free));
  return {};
}

function deletionSecret({ metadata: { annotations } }: PersistentVolume): SecretPlace | undefined {
  const name = ownValue(annotations, DELETION_SECRET_NAME) ?? '';
  const namespace = ownValue(annotations, DELETION_SECRET_NAMESPACE) ?? '';
  return name === '' ? undefined : { name, namespace };
}
