import {
  CSI_DRIVERS,
  LEASES,
  NODE_LEASES_NAMESPACE,
  NODES,
  type Node,
  needsAttach,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeAttachment,
  PODS,
  type Pod,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import type { ApiClient, ReconcileResult } from '@holdfast/client';
import { invariant } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { nameOf, parseKey, uidOf } from '../../common/meta.ts';
import { claimKeysOf } from '../../common/pod-claims.ts';
import { unlessChanged } from '../../common/writes.ts';
import { ATTACH_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import {
  type AttachDecision,
  type AttachSnapshot,
  decide,
  givesToken,
  isReleased,
  multiAttachMessage,
  waitingFor,
} from './decide.ts';
import { saysMore } from './node-changes.ts';
import { Told } from './told.ts';
import { usersOf } from './users.ts';
import { createAttachmentsLoop, hasVolumeAttachment } from './volume-attachments.ts';

/** A volume without its own locking is used on one node at a time: `status.attachment` of the volume names it. */
export const attachDetachController: ControllerDefinition = {
  name: 'persistentvolume-attach-detach',
  component: 'attachdetach-controller',
  identity: 'manager',
  watches: [PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, PODS, NODES, VOLUME_ATTACHMENTS, CSI_DRIVERS],
  create: (context) => [createLoop(context), createAttachmentsLoop(context)],
};

/** Defined in the cache indexes. */
const ATTACHED_TO = 'attachedTo';

function createLoop(context: ControllerContext): Loop {
  const { informers } = context;
  const volumes = informers.of(PERSISTENT_VOLUMES);
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  const told = new Told();
  const volumeOfClaim = (key: string): string => claims.get(parseKey(key))?.spec.volumeName ?? '';
  return {
    name: 'persistentvolume-attach-detach',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => volumes.list().filter(isConcerned).map(nameOf),
    wake: (enqueue) => {
      const wakeVolume = (name: string | undefined): void => {
        const volume = (name ?? '') === '' ? undefined : volumes.get({ name: name ?? '' });
        if (volume !== undefined && isConcerned(volume)) enqueue(nameOf(volume));
      };
      return [
        volumes.onChange(({ key, object }) => {
          if (object === undefined) told.forget(key);
          wakeVolume(key);
        }),
        claims.onChange(({ object, old }) => [object, old].forEach((claim) => wakeVolume(claim?.spec.volumeName))),
        informers.of(PODS).onChange(({ object, old }) => {
          const pod = object ?? old;
          for (const key of pod === undefined ? [] : claimKeysOf(pod)) wakeVolume(volumeOfClaim(key));
        }),
        informers.of(VOLUME_ATTACHMENTS).onChange(({ object, old }) => {
          if (object === undefined) wakeVolume(old?.spec.source.persistentVolumeName);
        }),
        informers.of(NODES).onChange((change) => {
          if (saysMore(change))
            for (const volume of volumes.byIndex(ATTACHED_TO, change.key)) wakeVolume(nameOf(volume));
        }),
      ];
    },
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      if (volume !== undefined && isConcerned(volume)) return pass(context, volume, told);
      told.forget(name);
      return {};
    },
  };
}

const isConcerned = (volume: PersistentVolume): boolean =>
  needsAttach(volume) || volume.status.attachment !== undefined;

/** Every write names the revision of the volume that was decided on: of two controllers one is refused and looks again. */
async function pass(context: ControllerContext, volume: PersistentVolume, told: Told): Promise<ReconcileResult> {
  const { informers, events, clock, client } = context;
  const users = needsAttach(volume) ? usersOf(context, volume) : [];
  const goneUids = await goneUsers(context, volume, users);
  const nodeOf = (name: string): Node | undefined => informers.of(NODES).get({ name });
  const decision = await decideFor(client, { volume, users, goneUids, nodeOf }, clock.now());
  for (const pod of waitingFor(volume, users)) {
    const message = multiAttachMessage(volume, pod);
    if (told.isNew(nameOf(volume), `${uidOf(pod)} ${message}`))
      events.event(pod, { type: 'Warning', reason: 'FailedAttachVolume', message });
  }
  switch (decision.kind) {
    case 'nothing':
      return volume.status.attachment === undefined && users.length === 0 ? {} : { requeueAfterMs: ATTACH_RECHECK_MS };
    case 'attach':
    case 'change-users': {
      if (await namesGone(client, volume, decision.attachment)) return { requeueAfterMs: ATTACH_RECHECK_MS };
      const written = await write(context, volume, decision);
      if (written !== undefined && decision.kind === 'attach')
        tellAttached(context, volume, users, decision.attachment);
      return {};
    }
    case 'ask-node': {
      const name = decision.nodeName;
      const lease = await client.find(LEASES, { namespace: NODE_LEASES_NAMESPACE, name });
      const node = await client.find(NODES, { name });
      if (!isReleased(node, lease, nameOf(volume))) return { requeueAfterMs: ATTACH_RECHECK_MS };
      // Its driver has not taken it from the node yet.
      if (await hasVolumeAttachment(context, volume, name)) return { requeueAfterMs: ATTACH_RECHECK_MS };
      told.forget(nameOf(volume));
      await write(context, volume, { fencingToken: volume.status.fencingToken });
      return {};
    }
  }
}

/** The store's position is read only for a decision that gives a token: most passes give none. */
async function decideFor(
  client: ApiClient,
  seen: Omit<AttachSnapshot, 'position'>,
  now: number,
): Promise<AttachDecision> {
  const decision = decide({ ...seen, position: 0 }, now);
  return givesToken(decision, seen.volume) ? decide({ ...seen, position: await positionOf(client) }, now) : decision;
}

/**
 * Read from the API: right after a restore a cache may still be at a position from which numbers were given before.
 * The revision of a list is that of the whole store, also when nothing was written since the restore.
 */
async function positionOf(client: ApiClient): Promise<number> {
  const { resourceVersion } = await client.list(PERSISTENT_VOLUMES, { limit: 1 });
  const position = Number(resourceVersion);
  invariant(Number.isSafeInteger(position), 'a list has a numeric resourceVersion', { resourceVersion });
  return position;
}

interface Attached {
  /** Absent: detached. */
  readonly attachment?: PersistentVolumeAttachment;
  readonly fencingToken: number | undefined;
}

function write(
  { client }: ControllerContext,
  volume: PersistentVolume,
  { attachment, fencingToken }: Attached,
): Promise<PersistentVolume | undefined> {
  const { attachment: _before, ...status } = volume.status;
  const attached = attachment === undefined ? status : { ...status, attachment };
  const next = { ...volume, status: fencingToken === undefined ? attached : { ...attached, fencingToken } };
  return unlessChanged(() => client.updateStatus(PERSISTENT_VOLUMES, next));
}

function tellAttached(
  { events }: ControllerContext,
  volume: PersistentVolume,
  users: readonly Pod[],
  { pods = [] }: PersistentVolumeAttachment,
): void {
  const message = `AttachVolume.Attach succeeded for volume "${nameOf(volume)}" `;
  for (const pod of users) {
    if (!pods.some(({ uid }) => uid === uidOf(pod))) continue;
    events.event(pod, { type: 'Normal', reason: 'SuccessfulAttachVolume', message });
  }
}

/**
 * Verifies with the API that who is named anew is there: a stale cache names pods again that are gone, and a controller that
 * knows better takes them out again, as fast as the network.
 */
async function namesGone(
  client: ApiClient,
  { status }: PersistentVolume,
  { pods = [] }: PersistentVolumeAttachment,
): Promise<boolean> {
  const before = new Set((status.attachment?.pods ?? []).map(({ uid }) => uid));
  for (const { namespace, name, uid } of pods) {
    if (before.has(uid)) continue;
    const stored = await client.find(PODS, { namespace, name });
    if (stored?.metadata.uid !== uid) return true;
  }
  return false;
}

/** Verifies with the API that a pod is gone: a stale cache must not take a volume from under a process. */
async function goneUsers(
  { client, informers }: ControllerContext,
  volume: PersistentVolume,
  users: readonly Pod[],
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>();
  for (const { namespace, name, uid } of volume.status.attachment?.pods ?? []) {
    const isSeen = users.some((pod) => uidOf(pod) === uid);
    if (isSeen || informers.of(PODS).get({ namespace, name })?.metadata.uid === uid) continue;
    const live = await client.find(PODS, { namespace, name });
    if (live?.metadata.uid !== uid) gone.add(uid);
  }
  return gone;
}
