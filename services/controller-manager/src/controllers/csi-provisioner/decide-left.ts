import {
  csiSourceOf,
  isTerminating,
  type ObjectMeta,
  type PersistentVolume,
  PROVISIONED_BY_ANNOTATION,
  type VolumeAttachment,
} from '@holdfast/api';
import { nameOf, timeOf } from '../../common/meta.ts';
import { LEFT_DRIVER_PATIENCE_MS } from '../../limits.ts';
import { attacherFinalizer } from '../csi-attacher/decide.ts';
import { PROVISIONER_FINALIZER, type ProvisionerEvent } from './names.ts';

type Names = { has(driver: string): boolean };

export type LeftAction =
  | { readonly kind: 'none' }
  /** Helpers of the driver's own may run elsewhere, and be about to do it. */
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'report'; readonly event: ProvisionerEvent };

const NOTHING: LeftAction = { kind: 'none' };

/** A volume whose deletion waits for a driver that `--csi-drivers` does not name. */
export function decideLeftVolume(volume: PersistentVolume, named: Names, nowMs: number): LeftAction {
  const { annotations } = volume.metadata;
  const driver = annotations?.[PROVISIONED_BY_ANNOTATION] ?? csiSourceOf(volume)?.driver ?? '';
  if (driver === '' || named.has(driver)) return NOTHING;
  const held = [PROVISIONER_FINALIZER, attacherFinalizer(driver)].filter((each) => hasFinalizer(volume, each));
  const isReleased =
    held.includes(PROVISIONER_FINALIZER) &&
    volume.status.phase === 'Released' &&
    volume.spec.persistentVolumeReclaimPolicy === 'Delete';
  if (held.length === 0 || (!isTerminating(volume) && !isReleased)) return NOTHING;
  const since = volume.metadata.deletionTimestamp ?? volume.status.lastPhaseTransitionTime;
  const byHand = `delete its volume ${csiSourceOf(volume)?.volumeHandle ?? nameOf(volume)} by hand`;
  return atLast(since, nowMs, {
    type: 'Warning',
    reason: 'VolumeFailedDelete',
    message: nextStep(driver, held, byHand, 'volume'),
  });
}

/** The same of an attachment that is being deleted. */
export function decideLeftAttachment(attachment: VolumeAttachment, named: Names, nowMs: number): LeftAction {
  const driver = attachment.spec.attacher;
  const finalizer = attacherFinalizer(driver);
  if (named.has(driver) || !isTerminating(attachment) || !hasFinalizer(attachment, finalizer)) return NOTHING;
  const byHand = `make sure that node ${attachment.spec.nodeName} does not use the volume any more and detach it by hand`;
  return atLast(attachment.metadata.deletionTimestamp, nowMs, {
    type: 'Warning',
    reason: 'VolumeFailedDetach',
    message: nextStep(driver, [finalizer], byHand, 'attachment'),
  });
}

const nextStep = (driver: string, finalizers: readonly string[], byHand: string, what: string): string =>
  `--csi-drivers of the controller manager does not name the driver ${driver}, and no helper of its own has answered: ` +
  `name it (again), or ${byHand}, and then take the finalizer ${finalizers.join(' and ')} off the ${what}`;

function atLast(since: string | undefined, nowMs: number, event: ProvisionerEvent): LeftAction {
  const forMs = timeOf(since) + LEFT_DRIVER_PATIENCE_MS - nowMs;
  return forMs > 0 ? { kind: 'wait', forMs } : { kind: 'report', event };
}

const hasFinalizer = ({ metadata }: { readonly metadata: ObjectMeta }, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) === true;
