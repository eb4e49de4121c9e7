import {
  CSI_DRIVERS,
  csiSourceOf,
  isAttachRequired,
  LEASES,
  NODE_LEASES_NAMESPACE,
  NODES,
  needsAttach,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
  volumeAttachmentName,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import type { ControllerContext, Loop } from '../../common/context.ts';
import { isTerminating, nameOf, parseKey, uidOf } from '../../common/meta.ts';
import { claimKeysOf } from '../../common/pod-claims.ts';
import { isAlreadyExists, unlessChanged } from '../../common/writes.ts';
import { ATTACH_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decideAttachments, hasLeft, type VolumeAttachmentsSnapshot } from './decide-attachments.ts';
import { saysMore } from './node-changes.ts';
import { Told } from './told.ts';
import { usersOf } from './users.ts';

/** Defined in the cache indexes. */
const OF_VOLUME = 'ofVolume';
const ON_NODE = 'onNode';
const DRIVER = 'driver';

/** Makes and removes the VolumeAttachments of volumes of CSI drivers. The attacher of the driver does the work. */
export function createAttachmentsLoop(context: ControllerContext): Loop {
  const { informers } = context;
  const volumes = informers.of(PERSISTENT_VOLUMES);
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  const attachments = informers.of(VOLUME_ATTACHMENTS);
  const told = new Told();
  return {
    name: 'volume-attachments',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => volumes.list().filter(isDriven).map(nameOf),
    wake: (enqueue) => {
      const wakeVolume = (name = ''): void => {
        const volume = name === '' ? undefined : volumes.get({ name });
        if (volume !== undefined && isDriven(volume)) enqueue(name);
      };
      return [
        volumes.onChange(({ key, object }) => (object === undefined ? told.forget(key) : wakeVolume(key))),
        claims.onChange(({ object, old }) => [object, old].forEach((claim) => wakeVolume(claim?.spec.volumeName))),
        attachments.onChange(({ object, old }) => wakeVolume((object ?? old)?.spec.source.persistentVolumeName)),
        informers.of(CSI_DRIVERS).onChange(({ key }) => {
          for (const volume of volumes.byIndex(DRIVER, key)) enqueue(nameOf(volume));
        }),
        informers.of(PODS).onChange(({ object, old }) => {
          const pod = object ?? old;
          for (const key of pod === undefined ? [] : claimKeysOf(pod))
            wakeVolume(claims.get(parseKey(key))?.spec.volumeName);
        }),
        informers.of(NODES).onChange((change) => {
          if (!saysMore(change)) return;
          for (const { spec } of attachments.byIndex(ON_NODE, change.key)) wakeVolume(spec.source.persistentVolumeName);
        }),
      ];
    },
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      return volume === undefined ? {} : pass(context, volume, told);
    },
  };
}

const isDriven = (volume: PersistentVolume): boolean => csiSourceOf(volume) !== undefined;

/** Those that other programs made under other names are theirs. */
function ownAttachments({ informers }: ControllerContext, volume: PersistentVolume): readonly VolumeAttachment[] {
  const source = csiSourceOf(volume);
  if (source === undefined) return [];
  const all = informers.of(VOLUME_ATTACHMENTS).byIndex(OF_VOLUME, nameOf(volume));
  return all.filter((each) => nameOf(each) === volumeAttachmentName(source, each.spec.nodeName));
}

function observe(context: ControllerContext, volume: PersistentVolume): VolumeAttachmentsSnapshot {
  const { informers } = context;
  const name = csiSourceOf(volume)?.driver ?? '';
  return {
    volume,
    isRequired: isAttachRequired(informers.of(CSI_DRIVERS).get({ name })),
    users: usersOf(context, volume),
    attachments: ownAttachments(context, volume),
    nodeExists: (node) => informers.of(NODES).get({ name: node }) !== undefined,
  };
}

async function pass(context: ControllerContext, volume: PersistentVolume, told: Told): Promise<ReconcileResult> {
  const { client } = context;
  const snapshot = observe(context, volume);
  tellErrors(context, snapshot, told);
  tellWaiting(context, snapshot, told);
  const decision = decideAttachments(snapshot);
  switch (decision.kind) {
    case 'nothing':
      return {};
    case 'create': {
      // A late cache may show where the volume was before.
      const live = await client.find(PERSISTENT_VOLUMES, { name: nameOf(volume) });
      const again = live === undefined ? undefined : decideAttachments({ ...snapshot, volume: live });
      if (again?.kind === 'create') await create(context, again.attachment);
      return {};
    }
    case 'mark':
      await unlessChanged(() => client.update(VOLUME_ATTACHMENTS, decision.attachment));
      return {};
    case 'ask-node': {
      const { attachment } = decision;
      const name = attachment.spec.nodeName;
      const lease = await client.find(LEASES, { namespace: NODE_LEASES_NAMESPACE, name });
      const node = await client.find(NODES, { name });
      if (!hasLeft(volume, node, lease)) return { requeueAfterMs: ATTACH_RECHECK_MS };
      const { resourceVersion } = attachment.metadata;
      const precondition = { uid: uidOf(attachment), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      await unlessChanged(() => client.delete(VOLUME_ATTACHMENTS, { name: nameOf(attachment) }, precondition));
      return {};
    }
  }
}

/** The errors of drivers are told to the pods that wait. */
function tellErrors({ events }: ControllerContext, of: VolumeAttachmentsSnapshot, told: Told): void {
  for (const { spec, status } of of.attachments) {
    const error = status.attached ? undefined : status.attachError?.message;
    if (error === undefined) continue;
    const message = `AttachVolume.Attach failed for volume "${nameOf(of.volume)}" : ${error}`;
    for (const pod of of.users) {
      const isWaiting = pod.spec.nodeName === spec.nodeName && !isTerminating(pod);
      if (isWaiting && told.isNew(nameOf(of.volume), `${uidOf(pod)} ${message}`))
        events.event(pod, { type: 'Warning', reason: 'FailedAttachVolume', message });
    }
  }
}

/** After an administrator broke the attachment: the driver still has the volume attached to the last node. */
function tellWaiting({ events }: ControllerContext, of: VolumeAttachmentsSnapshot, told: Told): void {
  const { volume, attachments, users } = of;
  const { nodeName, pods = [] } = volume.status.attachment ?? {};
  const staying = attachments.find((each) => each.spec.nodeName !== nodeName && !isTerminating(each));
  const last = staying?.spec.nodeName;
  if (!needsAttach(volume) || nodeName === undefined || last === undefined) return;
  const message = `Volume "${nameOf(volume)}" is still attached to node "${last}", which reports that it uses it: it is detached when the node has released it, is deleted, or is tainted with node.kubernetes.io/out-of-service=:NoExecute`;
  for (const pod of users)
    if (pods.some(({ uid }) => uid === uidOf(pod)) && told.isNew(nameOf(volume), `${uidOf(pod)} ${message}`))
      events.event(pod, { type: 'Warning', reason: 'FailedAttachVolume', message });
}

async function create({ client }: ControllerContext, attachment: VolumeAttachment): Promise<void> {
  try {
    await client.create(VOLUME_ATTACHMENTS, attachment);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** True while the driver may have the volume attached to the node. Read from the API: a cache may be late. */
export async function hasVolumeAttachment(
  { client }: Pick<ControllerContext, 'client'>,
  volume: PersistentVolume,
  nodeName: string,
): Promise<boolean> {
  const source = csiSourceOf(volume);
  if (source === undefined || !needsAttach(volume)) return false;
  return (await client.find(VOLUME_ATTACHMENTS, { name: volumeAttachmentName(source, nodeName) })) !== undefined;
}
