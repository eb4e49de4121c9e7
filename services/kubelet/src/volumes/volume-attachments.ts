import {
  csiSourceOf,
  isAttachedForPod,
  isPodFinished,
  isTerminating,
  type Node,
  needsAttach,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  podOfVolumeInUse,
  volumeInUse,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import { isApiAway } from '../domain/api-away.ts';
import { VolumeError } from '../domain/volume-files.ts';
import type { SandboxStatus } from '../runtime/port.ts';

/** Not an error: another pod has the volume, or the attach is in progress. */
export class AttachWait extends Error {}

export interface VolumeAttachmentsDeps {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** True when something of this pod is, or may be, on the node. */
  readonly isHere: (podUid: string) => boolean;
  /** The node has something else to say of its volumes. */
  readonly onChange: () => void;
}

/**
 * Volumes for one node at a time. A pod starts only after two observations in this order: the API has this node's
 * report of the volumes in use, and the volume names this node and this very pod. A writer that removes the pod's name
 * from the volume reads the node after that, so no order of events lets both continue. The report is revoked when
 * nothing of the pod is left that could write.
 */
export class VolumeAttachments {
  readonly #deps: VolumeAttachmentsDeps;
  /** Names of volumes, by pod. */
  readonly #held = new Map<string, Set<string>>();
  /** Names of claims, by pod, whose volumes no node attaches: a claim keeps its volume, so this stays true while the API is away. */
  readonly #unattached = new Map<string, Set<string>>();
  /** As in the API. */
  #reported: ReadonlySet<string> = new Set();
  #isFirstLook = true;

  constructor(deps: VolumeAttachmentsDeps) {
    this.#deps = deps;
  }

  /** Resolves when the pod may use its volumes; rejects with `AttachWait` while it has to wait. */
  async ensure(pod: Pod): Promise<void> {
    for (const name of claimNamesOf(pod)) {
      try {
        await this.#ensureOne(pod, name);
      } catch (error) {
        if (error instanceof VolumeError || error instanceof AttachWait) throw error;
        if (isApiAway(error) && this.#unattached.get(pod.metadata.uid ?? '')?.has(name) === true) continue;
        throw new AttachWait(`where the volume of claim "${name}" is attached is not known: ${describeError(error)}`);
      }
    }
  }

  async #ensureOne(pod: Pod, claimName: string): Promise<void> {
    const { client, nodeName, onChange } = this.#deps;
    const { namespace = '', uid = '' } = pod.metadata;
    const claim = await client.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name: claimName });
    const name = volumeNameOf(claim, `${namespace}/${claimName}`);
    // Before the volume is read, or the answer would prove nothing.
    const isSaid = this.#reported.has(volumeInUse(name, uid));
    const volume = await client.find(PERSISTENT_VOLUMES, { name });
    if (volume === undefined) throw new VolumeError(`persistentvolume "${name}" not found`);
    // A volume of a CSI driver is detached only after the node's report, whatever its access modes.
    if (!needsAttach(volume) && csiSourceOf(volume) === undefined) {
      this.#unattached.set(uid, (this.#unattached.get(uid) ?? new Set()).add(claimName));
      return;
    }
    if (needsAttach(volume) && !isAttachedForPod(volume, nodeName, uid))
      throw new AttachWait(waitMessage(volume, nodeName));
    if (isSaid && this.#held.get(uid)?.has(name) === true) return;
    this.#held.set(uid, (this.#held.get(uid) ?? new Set()).add(name));
    onChange();
    throw new AttachWait(`this node has yet to say that it uses the volume "${name}"`);
  }

  /** The current state of a pod. Nothing is released while a process of it lives or may still start. */
  observe(uid: string, pod: Pod | undefined, sandboxes: readonly SandboxStatus[]): void {
    if (!this.#held.has(uid) && !this.#unattached.has(uid)) return;
    if (isOver(pod, sandboxes)) this.#release(uid);
  }

  #release(uid: string): void {
    this.#unattached.delete(uid);
    if (this.#held.delete(uid)) this.#deps.onChange();
  }

  /** The Node object in the API. The report of an earlier kubelet stays valid for pods that are still here. */
  seen({ status }: Pick<Node, 'status'>): void {
    const entries = status.volumesInUse ?? [];
    this.#reported = new Set(entries);
    if (!this.#isFirstLook) return;
    this.#isFirstLook = false;
    for (const entry of entries) {
      const uid = podOfVolumeInUse(entry);
      const name = entry.split('/').at(-2);
      if (uid === undefined || name === undefined || !this.#deps.isHere(uid)) continue;
      this.#held.set(uid, (this.#held.get(uid) ?? new Set()).add(name));
    }
  }

  /** For the node's status. */
  inUse(): readonly string[] {
    return [...this.#held].flatMap(([uid, names]) => [...names].map((name) => volumeInUse(name, uid))).toSorted();
  }
}

/** True when no process of the pod can use its volumes any more. */
export function isOver(pod: Pod | undefined, sandboxes: readonly SandboxStatus[]): boolean {
  if (pod !== undefined && isPodFinished(pod))
    return sandboxes.every(({ containers }) => containers.every(({ state }) => state === 'exited'));
  const isEnding = pod === undefined || isTerminating(pod);
  return isEnding && sandboxes.length === 0;
}

function waitMessage({ metadata, status: { attachment } }: PersistentVolume, nodeName: string): string {
  const name = `volume "${metadata.name ?? ''}"`;
  if (attachment === undefined) return `waiting for ${name} to be attached to this node`;
  return attachment.nodeName === nodeName
    ? `waiting for ${name} to be attached for this pod`
    : `waiting for ${name}, which is attached to node ${attachment.nodeName}`;
}

function volumeNameOf(claim: PersistentVolumeClaim | undefined, key: string): string {
  if (claim === undefined) throw new VolumeError(`persistentvolumeclaim "${key.split('/')[1] ?? ''}" not found`);
  const { volumeName = '' } = claim.spec;
  if (claim.status?.phase !== 'Bound' || volumeName === '') throw new VolumeError(`PVC ${key} is not bound`);
  return volumeName;
}

/** The names of the claims that the pod uses, its own ones included. */
export const claimNamesOf = ({ metadata, spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim }) => {
    const claimName = ephemeral === undefined ? persistentVolumeClaim?.claimName : `${metadata.name ?? ''}-${name}`;
    return claimName === undefined ? [] : [claimName];
  });
