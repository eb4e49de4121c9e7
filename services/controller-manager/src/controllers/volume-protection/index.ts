import { PERSISTENT_VOLUMES, type PersistentVolume, VOLUME_FINALIZER } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { withFinalizer, withoutFinalizer } from '../../common/finalizers.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';

/** A volume that a claim is bound to, or that a node may still be writing to, outlives its deletion. */
export const volumeProtectionController: ControllerDefinition = {
  name: 'pv-protection',
  component: 'pv-protection-controller',
  identity: 'manager',
  watches: [PERSISTENT_VOLUMES],
  create: (context) => [createLoop(context)],
};

/** The volume with or without its protection; undefined when it is as it should be. */
export function decide(volume: PersistentVolume): PersistentVolume | undefined {
  if (!isTerminating(volume)) return withFinalizer(volume, VOLUME_FINALIZER);
  const { phase, attachment } = volume.status;
  return phase === 'Bound' || attachment !== undefined ? undefined : withoutFinalizer(volume, VOLUME_FINALIZER);
}

function createLoop({ informers, client }: ControllerContext): Loop {
  const volumes = informers.of(PERSISTENT_VOLUMES);
  return {
    name: 'pv-protection',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => volumes.list().map(nameOf),
    wake: (enqueue) => [
      volumes.onChange(({ key, object }) => {
        if (object !== undefined && decide(object) !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      const changed = volume === undefined ? undefined : decide(volume);
      if (changed !== undefined) await unlessChanged(() => client.update(PERSISTENT_VOLUMES, changed));
      return {};
    },
  };
}
