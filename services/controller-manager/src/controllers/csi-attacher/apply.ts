import {
  LEASES,
  NODE_LEASES_NAMESPACE,
  NODES,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { describeError, formatTime } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { withoutFinalizer } from '../../common/finalizers.ts';
import { isTerminating, nameOf, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import type { DriverRetries } from '../../csi/driver-retries.ts';
import type { ControllerDriver, Texts } from '../../csi/port.ts';
import { placeOf, readSecret } from '../../csi/secrets.ts';
import { ATTACH_ERROR_BYTES_MAX, ATTACH_RECHECK_MS } from '../../limits.ts';
import { type AttacherAction, attacherFinalizer, obstacleToDetach } from './decide.ts';

interface Tools {
  readonly context: ControllerContext;
  readonly driver: ControllerDriver;
  readonly retries: DriverRetries;
}

type Attach = Extract<AttacherAction, { kind: 'attach' }>;
type Detach = Extract<AttacherAction, { kind: 'detach' }>;

export async function apply(
  tools: Tools,
  attachment: VolumeAttachment,
  action: AttacherAction,
): Promise<ReconcileResult> {
  const { client } = tools.context;
  switch (action.kind) {
    case 'nothing':
      return {};
    case 'hold':
    case 'release':
      await unlessChanged(() => client.update(VOLUME_ATTACHMENTS, action.attachment));
      return {};
    case 'hold-volume':
      await unlessChanged(() => client.update(PERSISTENT_VOLUMES, action.volume));
      return {};
    case 'report':
      await report(tools, attachment, action.error);
      return { requeueAfterMs: ATTACH_RECHECK_MS };
    case 'attach':
      return tried(tools, attachment, () => attach(tools, attachment, action));
    case 'detach':
      return tried(tools, attachment, () => detach(tools, attachment, action));
  }
}

/** Not before the time of the next try; a failure is stored where kubelets and people find it. */
async function tried(
  tools: Tools,
  attachment: VolumeAttachment,
  work: () => Promise<ReconcileResult>,
): Promise<ReconcileResult> {
  const { retries } = tools;
  const key = nameOf(attachment);
  const about = isTerminating(attachment) ? 'detach' : 'attach';
  const waitMs = retries.waitMs(key, about);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  try {
    const result = await work();
    retries.forget(key);
    return result;
  } catch (error) {
    const requeueAfterMs = retries.failed(key, about, error);
    await report(tools, attachment, describeError(error));
    return { requeueAfterMs };
  }
}

async function attach(
  { context: { client }, driver }: Tools,
  attachment: VolumeAttachment,
  { volume, request }: Attach,
): Promise<ReconcileResult> {
  const { attaches } = await driver.abilities();
  // A late cache may show an attachment that has ended.
  const live = await client.find(VOLUME_ATTACHMENTS, { name: nameOf(attachment) });
  if (live === undefined || uidOf(live) !== uidOf(attachment) || isTerminating(live)) return {};
  const attachmentMetadata = attaches
    ? await driver.attach({ ...request, secrets: await secretsOf(client, volume) })
    : {};
  const status = { attached: true, ...(Object.keys(attachmentMetadata).length === 0 ? {} : { attachmentMetadata }) };
  await unlessChanged(() => client.updateStatus(VOLUME_ATTACHMENTS, { ...attachment, status }));
  return {};
}

/** A VolumeAttachment may be deleted by anybody; the driver is asked only when the node has let go. */
async function detach(
  { context: { client }, driver }: Tools,
  attachment: VolumeAttachment,
  { volume, volumeId, nodeId }: Detach,
): Promise<ReconcileResult> {
  const { nodeName: name } = attachment.spec;
  const lease = await client.find(LEASES, { namespace: NODE_LEASES_NAMESPACE, name });
  const node = await client.find(NODES, { name });
  const obstacle = obstacleToDetach(volume, { name, node, lease });
  if (obstacle !== undefined) throw new Error(obstacle);
  const { attaches } = await driver.abilities();
  // Another manager may have done it, and attached the volume again.
  const live = await client.find(VOLUME_ATTACHMENTS, { name: nameOf(attachment) });
  if (live === undefined || uidOf(live) !== uidOf(attachment)) return {};
  if (attaches) await driver.detach({ volumeId, nodeId, secrets: await secretsOf(client, volume) });
  const free = withoutFinalizer(attachment, attacherFinalizer(driver.name));
  if (free !== undefined) await unlessChanged(() => client.update(VOLUME_ATTACHMENTS, free));
  return {};
}

const secretsOf = (client: ControllerContext['client'], { spec }: PersistentVolume): Promise<Texts> =>
  readSecret(client, placeOf(spec.csi?.controllerPublishSecretRef));

async function report({ context }: Tools, attachment: VolumeAttachment, error: string): Promise<void> {
  const { client, clock } = context;
  const field = isTerminating(attachment) ? 'detachError' : 'attachError';
  const message = Buffer.from(error).subarray(0, ATTACH_ERROR_BYTES_MAX).toString('utf8').replaceAll('\uFFFD', '');
  // The same error is not written again: every write wakes all who watch.
  if (attachment.status[field]?.message === message) return;
  const status = { ...attachment.status, [field]: { message, time: formatTime(clock.now()) } };
  await unlessChanged(() => client.updateStatus(VOLUME_ATTACHMENTS, { ...attachment, status }));
}
