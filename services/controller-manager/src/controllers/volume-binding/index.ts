import {
  defaultStorageClass,
  isDefaultStorageClass,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
  storageClassOf,
} from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, nameOf, parseKey, toTarget } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { CLAIM_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { type ClaimDecision, decideClaim } from './decide-claim.ts';
import { decideVolume, type VolumeDecision } from './decide-volume.ts';
import { mismatchOf } from './matching.ts';

/** Claims get volumes that exist. */
export const volumeBindingController: ControllerDefinition = {
  name: 'persistentvolume-binder',
  component: 'persistentvolume-controller',
  identity: 'manager',
  watches: [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES],
  create: (context) => [createClaimLoop(context), createVolumeLoop(context)],
};

/** Defined in the cache indexes. */
const FREE_IN_CLASS = 'freeInClass';
const RESERVED_FOR = 'reservedFor';
const WANTS_VOLUME = 'wantsVolume';

function createClaimLoop(context: ControllerContext): Loop {
  const claims = context.informers.of(PERSISTENT_VOLUME_CLAIMS);
  const volumes = context.informers.of(PERSISTENT_VOLUMES);
  const classes = context.informers.of(STORAGE_CLASSES);
  const waiting = (className: string): readonly PersistentVolumeClaim[] => claims.byIndex(FREE_IN_CLASS, className);
  return {
    name: 'persistentvolume-binder',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => claims.list().map(keyOf),
    wake: (enqueue) => [
      claims.onChange(({ key, object }) => {
        if (object !== undefined) enqueue(key);
      }),
      volumes.onChange(({ key: name, object, old }) => {
        for (const claim of claims.byIndex(WANTS_VOLUME, name)) enqueue(keyOf(claim));
        for (const volume of [object, old])
          for (const key of volume === undefined ? [] : claimKeys(volume)) enqueue(key);
        // A volume that became free wakes the claims that could use it, once.
        if (object !== undefined && isFree(object) && (old === undefined || !isFree(old))) {
          for (const claim of waiting(storageClassOf(object)))
            if (mismatchOf(object, claim) === undefined) enqueue(keyOf(claim));
        }
      }),
      classes.onChange(({ key, object, old }) => {
        waiting(key).map(keyOf).forEach(enqueue);
        const isNowDefault = object !== undefined && isDefaultStorageClass(object);
        if (isNowDefault && (old === undefined || !isDefaultStorageClass(old))) waiting('').map(keyOf).forEach(enqueue);
      }),
    ],
    reconcile: async (key) => {
      const claim = claims.get(parseKey(key));
      if (claim !== undefined) await passClaim(context, claim);
      // Repeats the event about a waiting claim periodically.
      return claim === undefined || claim.status.phase === 'Bound' ? {} : { requeueAfterMs: CLAIM_RECHECK_MS };
    },
  };
}

const isFree = ({ spec, status }: PersistentVolume): boolean =>
  spec.claimRef === undefined && status.phase === 'Available';

const claimKeys = ({ spec: { claimRef } }: PersistentVolume): readonly string[] =>
  claimRef === undefined ? [] : [`${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`];

async function passClaim(context: ControllerContext, claim: PersistentVolumeClaim): Promise<void> {
  const { informers, events, client } = context;
  const volumes = informers.of(PERSISTENT_VOLUMES);
  const { volumeName = '' } = claim.spec;
  const className = storageClassOf(claim);
  const classes = informers.of(STORAGE_CLASSES);
  const storageClass = className === '' ? undefined : classes.get({ name: className });
  const defaultClass = className === '' ? defaultStorageClass(classes.list()) : undefined;
  const candidates = [...volumes.byIndex(RESERVED_FOR, keyOf(claim)), ...volumes.byIndex(FREE_IN_CLASS, className)];
  const named = volumeName === '' ? undefined : volumes.get({ name: volumeName });
  const decision: ClaimDecision = decideClaim({ claim, named, candidates, storageClass, defaultClass });
  // Data is not called lost because a cache is late.
  if (decision.write?.kind === 'claim-status' && decision.write.object.status.phase === 'Lost') {
    const live = volumeName === '' ? undefined : await client.find(PERSISTENT_VOLUMES, { name: volumeName });
    const again = decideClaim({ claim, named: live, candidates, storageClass, defaultClass });
    if (again.write?.kind !== 'claim-status' || again.write.object.status.phase !== 'Lost') return;
  }
  if (decision.event !== undefined) events.event(claim, decision.event);
  await apply(context, decision.write);
}

function createVolumeLoop(context: ControllerContext): Loop {
  const claims = context.informers.of(PERSISTENT_VOLUME_CLAIMS);
  const volumes = context.informers.of(PERSISTENT_VOLUMES);
  return {
    name: 'persistentvolume-phases',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => volumes.list().map(nameOf),
    wake: (enqueue) => [
      volumes.onChange(({ key, object }) => {
        if (object !== undefined) enqueue(key);
      }),
      claims.onChange(({ key, object, old }) => {
        for (const volume of volumes.byIndex(RESERVED_FOR, key)) enqueue(nameOf(volume));
        for (const name of [object?.spec.volumeName, old?.spec.volumeName])
          if ((name ?? '') !== '') enqueue(name ?? '');
      }),
    ],
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      if (volume !== undefined) await passVolume(context, volume);
      return {};
    },
  };
}

/** Verifies with the API that a claim is gone: the data of a released volume cannot be recovered. */
async function passVolume(context: ControllerContext, volume: PersistentVolume): Promise<void> {
  const { informers, events, client } = context;
  const { claimRef } = volume.spec;
  const target = toTarget(claimRef?.namespace ?? '', claimRef?.name ?? '');
  const cached = claimRef === undefined ? undefined : informers.of(PERSISTENT_VOLUME_CLAIMS).get(target);
  const isSeen = claimRef === undefined || (claimRef.uid ?? '') === '' || cached?.metadata.uid === claimRef.uid;
  const claim = isSeen ? cached : await client.find(PERSISTENT_VOLUME_CLAIMS, target);
  const decision = decideVolume(volume, claim);
  if (decision.event !== undefined) events.event(volume, decision.event);
  await apply(context, decision.write);
}

async function apply(
  { client }: ControllerContext,
  write: ClaimDecision['write'] | VolumeDecision['write'],
): Promise<void> {
  switch (write?.kind) {
    case 'volume':
      return void (await unlessChanged(() => client.update(PERSISTENT_VOLUMES, write.object)));
    case 'volume-status':
      return void (await unlessChanged(() => client.updateStatus(PERSISTENT_VOLUMES, write.object)));
    case 'claim':
      return void (await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, write.object)));
    case 'claim-status':
      return void (await unlessChanged(() => client.updateStatus(PERSISTENT_VOLUME_CLAIMS, write.object)));
    case undefined:
      return undefined;
  }
}
