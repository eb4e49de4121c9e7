import {
  CSI_NODES,
  csiSourceOf,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { DriverRetries } from '../../csi/driver-retries.ts';
import { each } from '../../csi/each-driver.ts';
import type { ControllerDriver } from '../../csi/port.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply } from './apply.ts';
import { type AttachmentSnapshot, decideAttachment, releasedVolume } from './decide.ts';

/** Defined in the cache indexes. */
const OF_VOLUME = 'ofVolume';
const ON_NODE = 'onNode';

/** Does what VolumeAttachments ask of CSI drivers: the external attacher of Kubernetes. */
export const csiAttacherController = (drivers: ReadonlyMap<string, ControllerDriver>): ControllerDefinition => ({
  name: 'csi-attacher',
  component: 'csi-attacher',
  identity: 'manager',
  watches: [VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES],
  create: (context) =>
    each(drivers).flatMap((driver) => [createAttachmentLoop(context, driver), createVolumeLoop(context, driver)]),
});

function createAttachmentLoop(context: ControllerContext, drivers: ReadonlyMap<string, ControllerDriver>): Loop {
  const { informers, clock } = context;
  const attachments = informers.of(VOLUME_ATTACHMENTS);
  const retries = new DriverRetries(clock);
  const isOurs = ({ spec }: VolumeAttachment): boolean => drivers.has(spec.attacher);
  return {
    name: 'csi-attacher',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => attachments.list().filter(isOurs).map(nameOf),
    wake: (enqueue) => {
      const wakeAll = (found: Iterable<VolumeAttachment>): void => {
        for (const each of found) if (isOurs(each)) enqueue(nameOf(each));
      };
      return [
        attachments.onChange(({ key, object }) => (object === undefined ? retries.forget(key) : wakeAll([object]))),
        informers.of(PERSISTENT_VOLUMES).onChange(({ key }) => wakeAll(attachments.byIndex(OF_VOLUME, key))),
        informers.of(CSI_NODES).onChange(({ key }) => wakeAll(attachments.byIndex(ON_NODE, key))),
      ];
    },
    reconcile: async (name) => {
      const attachment = attachments.get({ name });
      const driver = attachment === undefined ? undefined : drivers.get(attachment.spec.attacher);
      if (attachment === undefined || driver === undefined) return {};
      const action = decideAttachment(observe(context, driver, attachment));
      return apply({ context, driver, retries }, attachment, action);
    },
  };
}

function observe(
  { informers }: ControllerContext,
  { name: driver }: ControllerDriver,
  attachment: VolumeAttachment,
): AttachmentSnapshot {
  const { nodeName, source } = attachment.spec;
  const drivers = informers.of(CSI_NODES).get({ name: nodeName })?.spec.drivers ?? [];
  const { persistentVolumeName: name } = source;
  return {
    driver,
    attachment,
    volume: name === undefined ? undefined : informers.of(PERSISTENT_VOLUMES).get({ name }),
    nodeId: drivers.find((each) => each.name === driver)?.nodeID,
  };
}

/** Returns the finalizer of volumes that are deleted and attached nowhere. */
function createVolumeLoop(context: ControllerContext, drivers: ReadonlyMap<string, ControllerDriver>): Loop {
  const { informers, client } = context;
  const volumes = informers.of(PERSISTENT_VOLUMES);
  const attachments = informers.of(VOLUME_ATTACHMENTS);
  const isOurs = (volume: PersistentVolume): boolean => drivers.has(csiSourceOf(volume)?.driver ?? '');
  return {
    name: 'csi-attacher-volumes',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => volumes.list().filter(isOurs).map(nameOf),
    wake: (enqueue) => [
      volumes.onChange(({ key, object }) => {
        if (object !== undefined && isOurs(object)) enqueue(key);
      }),
      attachments.onChange(({ object, old }) => {
        const name = old?.spec.source.persistentVolumeName;
        if (object === undefined && name !== undefined) enqueue(name);
      }),
    ],
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      if (volume === undefined || !isOurs(volume)) return {};
      const driver = csiSourceOf(volume)?.driver ?? '';
      const isReleased = releasedVolume(driver, volume, attachments.byIndex(OF_VOLUME, name)) !== undefined;
      if (!isReleased) return {};
      // A late cache may not show an attachment yet.
      const { items } = await client.list(VOLUME_ATTACHMENTS);
      const live = items.filter(({ spec }) => spec.source.persistentVolumeName === name);
      const released = releasedVolume(driver, volume, live);
      if (released !== undefined) await unlessChanged(() => client.update(PERSISTENT_VOLUMES, released));
      return {};
    },
  };
}
