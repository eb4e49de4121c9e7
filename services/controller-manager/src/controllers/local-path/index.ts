import {
  localPathNode,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
  selectedNodeOf,
  storageClassOf,
} from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, nameOf, parseKey, uidOf } from '../../common/meta.ts';
import { isAlreadyExists, unlessChanged } from '../../common/writes.ts';
import { CLAIM_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { type ClaimAction, decideClaim, isAskedFor, volumeNameFor } from './decide-claim.ts';
import { decideVolume } from './decide-volume.ts';

/** Makes volumes that are directories of the node of their first pod. The kubelet makes and removes the directory. */
export const localPathController: ControllerDefinition = {
  name: 'local-path-provisioner',
  component: 'local-path-provisioner',
  identity: 'manager',
  watches: [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, NODES],
  create: (context) => [createClaimLoop(context), createVolumeLoop(context)],
};

/** Defined in the cache indexes. */
const FREE_IN_CLASS = 'freeInClass';
const DIRECTORY_ON = 'directoryOn';
const SELECTED_NODE = 'selectedNode';

function createClaimLoop(context: ControllerContext): Loop {
  const { informers } = context;
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  const asked = (): readonly PersistentVolumeClaim[] => claims.list().filter(isAskedFor);
  return {
    name: 'local-path-claims',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => asked().map(keyOf),
    wake: (enqueue) => [
      claims.onChange(({ key, object }) => {
        if (object !== undefined && isAskedFor(object)) enqueue(key);
      }),
      // A claim whose volume goes before it is bound needs another one.
      informers.of(PERSISTENT_VOLUMES).onChange(({ object, old }) => {
        const { namespace = '', name = '' } = old?.spec.claimRef ?? {};
        const waiting = object === undefined ? claims.get({ namespace, name }) : undefined;
        if (waiting !== undefined && isAskedFor(waiting)) enqueue(keyOf(waiting));
      }),
      informers.of(STORAGE_CLASSES).onChange(({ key }) => {
        for (const claim of claims.byIndex(FREE_IN_CLASS, key)) if (isAskedFor(claim)) enqueue(keyOf(claim));
      }),
      informers.of(NODES).onChange(({ key, object }) => {
        if (object !== undefined) return;
        for (const claim of claimsOn(context, key)) if (isAskedFor(claim)) enqueue(keyOf(claim));
      }),
    ],
    reconcile: async (key) => {
      const claim = claims.get(parseKey(key));
      const action = claim === undefined ? undefined : await passClaim(context, claim);
      // Repeats the event about a claim that waits.
      return action?.kind === 'report' ? { requeueAfterMs: CLAIM_RECHECK_MS } : {};
    },
  };
}

/** The volume that the claim names, or the one that this controller makes for it. */
function volumeFor({ informers }: ControllerContext, claim: PersistentVolumeClaim): PersistentVolume | undefined {
  const { volumeName = '' } = claim.spec;
  return informers.of(PERSISTENT_VOLUMES).get({ name: volumeName === '' ? volumeNameFor(claim) : volumeName });
}

/** The claims whose volume is on the node, or is to be made there. */
function* claimsOn(context: ControllerContext, node: string): Iterable<PersistentVolumeClaim> {
  const { informers } = context;
  const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
  for (const claim of claims.byIndex(SELECTED_NODE, node)) if (nodeNameFor(context, claim) === node) yield claim;
  for (const { spec } of informers.of(PERSISTENT_VOLUMES).byIndex(DIRECTORY_ON, node)) {
    const { namespace = '', name = '' } = spec.claimRef ?? {};
    const claim = claims.get({ namespace, name });
    if (claim !== undefined && nodeNameFor(context, claim) === node) yield claim;
  }
}

function nodeNameFor(context: ControllerContext, claim: PersistentVolumeClaim): string | undefined {
  if ((claim.spec.volumeName ?? '') === '') return selectedNodeOf(claim);
  const volume = volumeFor(context, claim);
  return volume === undefined ? undefined : localPathNode(volume);
}

async function passClaim(context: ControllerContext, claim: PersistentVolumeClaim): Promise<ClaimAction> {
  const { informers } = context;
  const name = nodeNameFor(context, claim);
  const className = storageClassOf(claim);
  const node = name === undefined ? undefined : informers.of(NODES).get({ name });
  const action = decideClaim({
    claim,
    storageClass: className === '' ? undefined : informers.of(STORAGE_CLASSES).get({ name: className }),
    // Only the API says that a node does not exist: a cache may be late.
    node: node ?? (name === undefined ? undefined : await findNode(context, name)),
    volume: volumeFor(context, claim),
  });
  await apply(context, claim, action);
  return action;
}

const findNode = ({ client }: ControllerContext, name: string): Promise<Node | undefined> =>
  client.find(NODES, { name });

async function apply(
  { client, events }: ControllerContext,
  claim: PersistentVolumeClaim,
  action: ClaimAction,
): Promise<void> {
  switch (action.kind) {
    case 'none':
      return;
    case 'report':
      return events.event(claim, action.event);
    case 'reschedule':
      events.event(claim, action.event);
      return void (await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, action.claim)));
    case 'provision': {
      if (!(await isCreated(() => client.create(PERSISTENT_VOLUMES, action.volume)))) return;
      const message = `Successfully provisioned volume ${nameOf(action.volume)}`;
      return events.event(claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message });
    }
  }
}

/** `false`: another manager was faster, or the cache is late. */
async function isCreated(create: () => Promise<unknown>): Promise<boolean> {
  try {
    await create();
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

function createVolumeLoop(context: ControllerContext): Loop {
  const { informers } = context;
  const volumes = informers.of(PERSISTENT_VOLUMES);
  const isOurs = (volume: PersistentVolume): boolean => localPathNode(volume) !== undefined;
  return {
    name: 'local-path-volumes',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => volumes.list().filter(isOurs).map(nameOf),
    wake: (enqueue) => [
      volumes.onChange(({ key, object }) => {
        if (object !== undefined && isOurs(object)) enqueue(key);
      }),
      informers.of(NODES).onChange(({ key, object }) => {
        if (object !== undefined) return;
        for (const volume of volumes.byIndex(DIRECTORY_ON, key)) enqueue(nameOf(volume));
      }),
    ],
    reconcile: async (name) => {
      const volume = volumes.get({ name });
      if (volume !== undefined) await passVolume(context, volume);
      return {};
    },
  };
}

async function passVolume(context: ControllerContext, volume: PersistentVolume): Promise<void> {
  const { informers, client, events } = context;
  const name = localPathNode(volume) ?? '';
  const isKnown = informers.of(NODES).get({ name }) !== undefined;
  const seen = decideVolume(volume, isKnown);
  if (seen.kind === 'none') return;
  // Only the API says that a node does not exist.
  const action = isKnown ? seen : decideVolume(volume, (await findNode(context, name)) !== undefined);
  if (action.kind === 'none') return;
  if (action.kind === 'delete') {
    const { resourceVersion } = volume.metadata;
    const precondition = { uid: uidOf(volume), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    await unlessChanged(() => client.delete(PERSISTENT_VOLUMES, { name: nameOf(volume) }, precondition));
    return;
  }
  if (action.event !== undefined) events.event(volume, action.event);
  await unlessChanged(() => client.update(PERSISTENT_VOLUMES, action.volume));
}
