import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, parseKey } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import type { ControllerDriver } from '../../csi/port.ts';
import { CLAIM_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decideLeft, isHeld, provisionerOf } from './decide-claim.ts';
import { volumeNameFor } from './names.ts';

/** Claims that are held for a driver which `--csi-drivers` does not name any more: nobody else would let them go. */
export const csiLeftClaimsController = (drivers: ReadonlyMap<string, ControllerDriver>): ControllerDefinition => ({
  name: 'csi-left-claims',
  component: 'csi-provisioner',
  identity: 'manager',
  watches: [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES],
  create: (context) => [createLoop(context, drivers)],
});

function createLoop(context: ControllerContext, drivers: ReadonlyMap<string, ControllerDriver>): Loop {
  const { informers } = context;
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  const isLeft = (claim: PersistentVolumeClaim): boolean => isHeld(claim) && !drivers.has(provisionerOf(claim) ?? '');
  return {
    name: 'csi-left-claims',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => claims.list().filter(isLeft).map(keyOf),
    wake: (enqueue) => [
      claims.onChange(({ key, object }) => {
        if (object !== undefined && isLeft(object)) enqueue(key);
      }),
      informers.of(PERSISTENT_VOLUMES).onChange(({ object, old }) => {
        const { namespace = '', name = '' } = object?.spec.claimRef ?? {};
        const claim = old === undefined && name !== '' ? claims.get({ namespace, name }) : undefined;
        if (claim !== undefined && isLeft(claim)) enqueue(keyOf(claim));
      }),
    ],
    reconcile: async (key) => {
      const claim = claims.get(parseKey(key));
      if (claim === undefined || !isLeft(claim)) return {};
      return apply(context, claim, informers.of(PERSISTENT_VOLUMES).get({ name: volumeNameFor(claim) }));
    },
  };
}

async function apply(
  { client, events }: ControllerContext,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume | undefined,
): Promise<ReconcileResult> {
  const action = decideLeft(claim, volume);
  if (action.kind === 'let-go') await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, action.claim));
  if (action.kind !== 'report') return {};
  events.event(claim, action.event);
  return { requeueAfterMs: CLAIM_RECHECK_MS };
}
