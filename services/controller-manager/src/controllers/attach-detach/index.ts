import {
  fenceOf,
  isSelfFenced,
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
} from '@holdfast/api';
import type { InformerChange, ReconcileResult } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { nameOf, parseKey, uidOf } from '../../common/meta.ts';
import { claimKeysOf } from '../../common/pod-claims.ts';
import { unlessChanged } from '../../common/writes.ts';
import { ATTACH_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, isReleased, multiAttachMessage, waitingFor } from './decide.ts';

/** A volume without its own locking is used on one node at a time: `status.attachment` of the volume names it. */
export const attachDetachController: ControllerDefinition = {
  name: 'persistentvolume-attach-detach',
  component: 'attachdetach-controller',
  identity: 'manager',
  watches: [PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, PODS, NODES],
  create: (context) => [createLoop(context)],
};

/** Defined in the cache indexes. */
const USES_CLAIM = 'usesClaim';
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

/** A heartbeat changes nothing about volumes. */
const saysMore = ({ object, old }: InformerChange<Node>): boolean =>
  !isSame(
    [object?.status.volumesInUse, object?.metadata.uid, object === undefined ? '' : vouchesOf(object)],
    [old?.status.volumesInUse, old?.metadata.uid, old === undefined ? '' : vouchesOf(old)],
  );

const vouchesOf = (node: Node): string => `${fenceOf(node)} ${isSelfFenced(node)}`;

/** Every write names the revision of the volume that was decided on: of two controllers one is refused and looks again. */
async function pass(context: ControllerContext, volume: PersistentVolume, told: Told): Promise<ReconcileResult> {
  const { informers, events, clock, client } = context;
  const users = needsAttach(volume) ? usersOf(context, volume) : [];
  const goneUids = await goneUsers(context, volume, users);
  const nodeOf = (name: string): Node | undefined => informers.of(NODES).get({ name });
  const decision = decide({ volume, users, goneUids, nodeOf }, clock.now());
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
      told.forget(nameOf(volume));
      await write(context, volume, { fencingToken: volume.status.fencingToken });
      return {};
    }
  }
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

/** Pods on a node, with the claim that the volume is bound to. */
function usersOf({ informers }: ControllerContext, volume: PersistentVolume): readonly Pod[] {
  const { claimRef } = volume.spec;
  if (claimRef === undefined) return [];
  const key = `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`;
  const claim = informers.of(PERSISTENT_VOLUME_CLAIMS).get(parseKey(key));
  if (claim === undefined || uidOf(claim) !== claimRef.uid || claim.spec.volumeName !== nameOf(volume)) return [];
  const pods = informers.of(PODS).byIndex(USES_CLAIM, key);
  return pods.filter(({ spec }) => (spec.nodeName ?? '') !== '');
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

/** Remembers which waiting pods already got an event about a volume, so that each gets it once. */
class Told {
  readonly #byVolume = new Map<string, Set<string>>();

  isNew(volume: string, text: string): boolean {
    const texts = this.#byVolume.get(volume) ?? new Set();
    this.#byVolume.set(volume, texts);
    if (texts.has(text)) return false;
    texts.add(text);
    return true;
  }

  forget(volume: string): void {
    this.#byVolume.delete(volume);
  }
}
