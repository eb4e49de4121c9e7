import {
  csiSourceOf,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, nameOf, parseKey, targetOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { DriverRetries } from '../../csi/driver-retries.ts';
import { each } from '../../csi/each-driver.ts';
import { type ControllerDriver, DriverError } from '../../csi/port.ts';
import { placeOf, readSecret } from '../../csi/secrets.ts';
import { formOf, storageBytes } from '../../csi/volume-form.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { afterExpansion, decideResize, infeasible, type ResizeAction, withCapacity } from './decide.ts';

/** Has CSI drivers expand volumes to what their claims ask for: the external resizer of Kubernetes. */
export const csiResizerController = (drivers: ReadonlyMap<string, ControllerDriver>): ControllerDefinition => ({
  name: 'csi-resizer',
  component: 'csi-resizer',
  identity: 'manager',
  watches: [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES],
  create: (context) => each(drivers).map((driver) => createLoop(context, driver)),
});

interface Tools {
  readonly context: ControllerContext;
  readonly driver: ControllerDriver;
  readonly retries: DriverRetries;
}

function createLoop(context: ControllerContext, drivers: ReadonlyMap<string, ControllerDriver>): Loop {
  const { informers, clock } = context;
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  const retries = new DriverRetries(clock);
  const volumeOf = ({ spec }: PersistentVolumeClaim): PersistentVolume | undefined =>
    (spec.volumeName ?? '') === '' ? undefined : informers.of(PERSISTENT_VOLUMES).get({ name: spec.volumeName ?? '' });
  const driverOf = (claim: PersistentVolumeClaim): ControllerDriver | undefined => {
    const volume = volumeOf(claim);
    return volume === undefined ? undefined : drivers.get(csiSourceOf(volume)?.driver ?? '');
  };
  return {
    name: 'csi-resizer',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () =>
      claims
        .list()
        .filter((claim) => driverOf(claim) !== undefined)
        .map(keyOf),
    wake: (enqueue) => [
      claims.onChange(({ key, object }) => {
        if (object === undefined) retries.forget(key);
        else if (driverOf(object) !== undefined) enqueue(key);
      }),
      informers.of(PERSISTENT_VOLUMES).onChange(({ object }) => {
        const { namespace = '', name = '' } = object?.spec.claimRef ?? {};
        const isOurs = object !== undefined && drivers.has(csiSourceOf(object)?.driver ?? '');
        if (isOurs && name !== '') enqueue(`${namespace}/${name}`);
      }),
    ],
    reconcile: async (key) => {
      const claim = claims.get(parseKey(key));
      const driver = claim === undefined ? undefined : driverOf(claim);
      if (claim === undefined || driver === undefined) return {};
      const action = decideResize({ driver: driver.name, claim, volume: volumeOf(claim) }, clock.now());
      return apply({ context, driver, retries }, claim, action);
    },
  };
}

async function apply(tools: Tools, claim: PersistentVolumeClaim, action: ResizeAction): Promise<ReconcileResult> {
  const { client, events } = tools.context;
  switch (action.kind) {
    case 'none':
      return {};
    case 'begin': {
      const begun = await unlessChanged(() => client.updateStatus(PERSISTENT_VOLUME_CLAIMS, action.claim));
      const message = `External resizer is resizing volume ${claim.spec.volumeName ?? ''}`;
      if (begun !== undefined) events.event(claim, { type: 'Normal', reason: 'Resizing', message });
      return {};
    }
    case 'expand':
      return tried(tools, claim, action);
  }
}

type Expand = Extract<ResizeAction, { kind: 'expand' }>;

async function tried(tools: Tools, claim: PersistentVolumeClaim, action: Expand): Promise<ReconcileResult> {
  const { context, retries } = tools;
  const key = keyOf(claim);
  const about = String(action.bytes);
  const waitMs = retries.waitMs(key, about);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  try {
    await expand(tools, claim, action);
    retries.forget(key);
    return {};
  } catch (error) {
    const requeueAfterMs = retries.failed(key, about, error);
    const message = `resize volume "${nameOf(action.volume)}" by resizer "${tools.driver.name}" failed: ${describeError(error)}`;
    context.events.event(claim, { type: 'Warning', reason: 'VolumeResizeFailed', message });
    const refused = error instanceof DriverError && error.isRefusal ? infeasible(claim) : undefined;
    if (refused !== undefined)
      await unlessChanged(() => context.client.updateStatus(PERSISTENT_VOLUME_CLAIMS, refused));
    return { requeueAfterMs };
  }
}

/** The volume is written before the claim: after a crash in between the driver is asked again, which changes nothing. */
async function expand(
  { context: { client, clock, events }, driver }: Tools,
  claim: PersistentVolumeClaim,
  { volume, bytes }: Expand,
): Promise<void> {
  const { expands } = await driver.abilities();
  if (!expands) throw new DriverError('the driver does not expand volumes', { isRefusal: true });
  const secrets = await readSecret(client, placeOf(volume.spec.csi?.controllerExpandSecretRef));
  const volumeId = volume.spec.csi?.volumeHandle ?? '';
  const done = await driver.expand({ volumeId, bytes, form: formOf(volume), secrets });
  if (done.bytes < bytes) throw new DriverError(`the driver expanded it to ${done.bytes} bytes`, { isRefusal: true });
  const larger = withCapacity(volume, done.bytes);
  if (larger !== undefined && (await unlessChanged(() => client.update(PERSISTENT_VOLUMES, larger))) === undefined)
    return;
  const live = await client.find(PERSISTENT_VOLUME_CLAIMS, targetOf(claim));
  if (live === undefined || storageBytes(live.spec.resources.requests) !== bytes) return;
  const next = afterExpansion(live, done, clock.now());
  if ((await unlessChanged(() => client.updateStatus(PERSISTENT_VOLUME_CLAIMS, next))) === undefined) return;
  const message = done.onNode ? 'Require file system resize of volume on node' : 'Resize volume succeeded';
  events.event(claim, {
    type: 'Normal',
    reason: done.onNode ? 'FileSystemResizeRequired' : 'VolumeResizeSuccessful',
    message,
  });
}
