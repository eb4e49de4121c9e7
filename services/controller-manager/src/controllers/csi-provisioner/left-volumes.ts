import {
  type KubeObject,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type ResourceRef,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { nameOf } from '../../common/meta.ts';
import type { ControllerDriver } from '../../csi/port.ts';
import { CLAIM_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decideLeftAttachment, decideLeftVolume, type LeftAction } from './decide-left.ts';

/** Tells volumes and attachments that are held for a driver which `--csi-drivers` does not name (any more) what to do. */
export const csiLeftVolumesController = (drivers: ReadonlyMap<string, ControllerDriver>): ControllerDefinition => ({
  name: 'csi-left-volumes',
  component: 'csi-provisioner',
  identity: 'manager',
  watches: [PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS],
  create: (context) => {
    const now = (): number => context.clock.now();
    return [
      createLoop(context, 'csi-left-volumes', PERSISTENT_VOLUMES, (volume: PersistentVolume) =>
        decideLeftVolume(volume, drivers, now()),
      ),
      createLoop(context, 'csi-left-attachments', VOLUME_ATTACHMENTS, (attachment: VolumeAttachment) =>
        decideLeftAttachment(attachment, drivers, now()),
      ),
    ];
  },
});

function createLoop<T extends KubeObject>(
  { informers, events }: ControllerContext,
  name: string,
  resource: ResourceRef<T>,
  decide: (object: T) => LeftAction,
): Loop {
  const objects = informers.of(resource);
  const isLeft = (object: T): boolean => decide(object).kind !== 'none';
  return {
    name,
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => objects.list().filter(isLeft).map(nameOf),
    wake: (enqueue) => [
      objects.onChange(({ key, object }) => {
        if (object !== undefined && isLeft(object)) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const object = objects.get({ name: key });
      const action = object === undefined ? undefined : decide(object);
      if (object === undefined || action === undefined || action.kind === 'none') return {};
      if (action.kind === 'wait') return { requeueAfterMs: action.forMs };
      events.event(object, action.event);
      return { requeueAfterMs: CLAIM_RECHECK_MS };
    },
  };
}
