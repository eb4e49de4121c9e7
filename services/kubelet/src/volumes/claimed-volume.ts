import {
  compileNodeTerms,
  csiSourceOf,
  localPathNode,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type SelectableNode,
  storageServerOf,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { isBlock, refuseOtherUse } from '../domain/block-volumes.ts';
import { VolumeError, type VolumeFile } from '../domain/volume-files.ts';
import { ticketFiles } from './volume-ticket.ts';

/** Files that say how the pod reaches a volume of the storage server. */
export interface VolumeTicketFiles {
  readonly kind: 'ticket';
  readonly files: ReadonlyMap<string, VolumeFile>;
}

export type ClaimedVolume = HostDirectory | OwnDirectory | VolumeTicketFiles | CsiVolume | NfsVolume;

/** A share of an NFS server. */
export interface NfsVolume {
  readonly kind: 'nfs';
  readonly volume: PersistentVolume;
  readonly source: NonNullable<PersistentVolume['spec']['nfs']>;
}

/** A volume that a CSI driver mounts. */
export interface CsiVolume {
  readonly kind: 'csi';
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

export interface HostDirectory {
  readonly kind: 'host';
  readonly path: string;
  /** As `hostPath.type`. */
  readonly type: string;
}

/** A directory that this node makes and removes. */
export interface OwnDirectory {
  readonly kind: 'own';
  /** That of the volume. */
  readonly uid: string;
}

export interface ClaimDeps {
  readonly client: ApiClient;
  readonly node: () => SelectableNode;
}

/** The place on this machine that a claim is bound to, or the ticket for the storage server. A volume that belongs to another node or another claim is refused. */
export async function findClaimed(
  { client, node }: ClaimDeps,
  pod: Pod,
  /** `volume`: its name in the pod. */
  claim: { readonly name: string; readonly ofPod: boolean; readonly volume: string },
): Promise<ClaimedVolume> {
  const { namespace = '' } = pod.metadata;
  const { name } = claim;
  const found = await client.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name });
  if (found === undefined) throw new VolumeError(`persistentvolumeclaim "${name}" not found`);
  if (claim.ofPod) refuseForeign(found, pod);
  const { volumeName = '' } = found.spec;
  if (found.status?.phase !== 'Bound' || volumeName === '')
    throw new VolumeError(`PVC ${namespace}/${name} is not bound`);
  const volume = await client.find(PERSISTENT_VOLUMES, { name: volumeName });
  if (volume === undefined) throw new VolumeError(`persistentvolume "${volumeName}" not found`);
  refuseMismatch(volume, found, node());
  refuseOtherUse(pod, claim.volume, volume);
  if (csiSourceOf(volume) !== undefined) return { kind: 'csi', volume, claim: found };
  if (isBlock(volume)) return deviceOf(volume);
  if (volume.spec.nfs !== undefined) return { kind: 'nfs', volume, source: volume.spec.nfs };
  const server = storageServerOf(volume);
  return server === undefined
    ? directoryOf(volume, node())
    : { kind: 'ticket', files: await ticketFiles({ client, node }, pod, { volume, server }) };
}

/** A claim that happens to have the name of the pod's own one would give its data away. */
function refuseForeign({ metadata }: PersistentVolumeClaim, pod: Pod): void {
  const isOwn = (metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => uid === pod.metadata.uid && controller === true,
  );
  if (isOwn) return;
  throw new VolumeError(
    `PVC ${metadata.namespace ?? ''}/${metadata.name ?? ''} was not created for pod (pod is not owner)`,
  );
}

function refuseMismatch(volume: PersistentVolume, claim: PersistentVolumeClaim, node: SelectableNode): void {
  const { claimRef, nodeAffinity } = volume.spec;
  const name = volume.metadata.name ?? '';
  if (claimRef?.uid !== undefined && claimRef.uid !== claim.metadata.uid)
    throw new VolumeError(`persistentvolume "${name}" is bound to another claim`);
  const required = nodeAffinity?.required;
  if (required !== undefined && !compileNodeTerms(required.nodeSelectorTerms)(node))
    throw new VolumeError(`MountVolume.NodeAffinity check failed for volume "${name}" : no matching NodeSelectorTerms`);
}

/** As in Kubernetes: of the volumes without a driver only local ones can be devices. */
function deviceOf({ metadata, spec }: PersistentVolume): HostDirectory {
  if (spec.local !== undefined) return { kind: 'host', path: spec.local.path, type: 'BlockDevice' };
  throw new VolumeError(
    `persistentvolume "${metadata.name ?? ''}": only volumes of the types local and csi can have volumeMode Block`,
  );
}

function directoryOf(volume: PersistentVolume, node: SelectableNode): HostDirectory | OwnDirectory {
  const { metadata, spec } = volume;
  const { hostPath, local } = spec;
  if (hostPath !== undefined) return { kind: 'host', path: hostPath.path, type: hostPath.type ?? '' };
  if (local !== undefined) return { kind: 'host', path: local.path, type: 'Directory' };
  const nodeName = localPathNode(volume);
  if (nodeName === node.name) return { kind: 'own', uid: metadata.uid ?? '' };
  if (nodeName !== undefined)
    throw new VolumeError(`persistentvolume "${metadata.name ?? ''}": its directory is on node "${nodeName}"`);
  const kinds = Object.entries(spec).filter(([, value]) => typeof value === 'object' && value !== null);
  const known = new Set(['accessModes', 'capacity', 'claimRef', 'mountOptions', 'nodeAffinity']);
  const kind = kinds.find(([field]) => !known.has(field))?.[0] ?? 'unknown';
  throw new VolumeError(`persistentvolume "${metadata.name ?? ''}": this node has no support for ${kind} volumes`);
}
