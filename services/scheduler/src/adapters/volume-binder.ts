import {
  BOUND_BY_CONTROLLER_ANNOTATION,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  SELECTED_NODE_ANNOTATION,
  selectedNodeOf,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import type { PodInfo } from '../domain/pod-info.ts';
import { isBound, reaches, type VolumePlan } from '../domain/volume-plan.ts';
import type { VolumeStore } from '../domain/volumes.ts';
import type { Snapshot } from '../framework/plugin.ts';
import { VOLUME_BIND_CHECK_INTERVAL_MS } from '../limits.ts';

export interface VolumeBinderDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly volumes: VolumeStore;
  readonly cluster: Pick<Snapshot, 'node'>;
  readonly timeoutMs: number;
}

/** The wording that Kubernetes users know. */
const FAILED = 'running PreBind plugin "VolumeBinding": binding volumes';

interface Reserved {
  readonly volumes: readonly PersistentVolume[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly nodeName: string;
}

/**
 * Reserves volumes for pods that are being placed. A reservation counts immediately, so that the next pod chooses other
 * volumes. It is written before the pod is bound, and released when the pod is not.
 */
export class VolumeBinder {
  readonly #deps: VolumeBinderDeps;
  readonly #reserved = new Map<string, Reserved>();

  constructor(deps: VolumeBinderDeps) {
    this.#deps = deps;
  }

  reserve(pod: PodInfo, nodeName: string, { bindings, provisions }: VolumePlan): void {
    if (bindings.length === 0 && provisions.length === 0) return;
    const volumes = bindings.map(({ claim, volume }) => claimedBy(volume, claim));
    const claims = provisions.map((claim) => withAnnotation(claim, SELECTED_NODE_ANNOTATION, nodeName));
    for (const volume of volumes) this.#deps.volumes.assumeVolume(volume);
    for (const claim of claims) this.#deps.volumes.assumeClaim(claim);
    this.#reserved.set(pod.uid, { volumes, claims, nodeName });
  }

  unreserve(pod: PodInfo): void {
    const reserved = this.#reserved.get(pod.uid);
    if (reserved === undefined) return;
    this.#reserved.delete(pod.uid);
    for (const { metadata } of reserved.volumes) this.#deps.volumes.forgetVolume(metadata.name ?? '');
    for (const { metadata } of reserved.claims)
      this.#deps.volumes.forgetClaim(`${metadata.namespace}/${metadata.name}`);
  }

  /**
   * Resolves when every claim of the pod is bound; rejects on a time-out. `undefined` means that no claim needs to be
   * bound.
   */
  bind(pod: PodInfo, signal: AbortSignal): Promise<void> | undefined {
    const reserved = this.#reserved.get(pod.uid);
    return reserved === undefined ? undefined : this.#bindReserved(pod, reserved, signal);
  }

  async #bindReserved(pod: PodInfo, reserved: Reserved, signal: AbortSignal): Promise<void> {
    const { client, clock, timeoutMs } = this.#deps;
    for (const volume of reserved.volumes) await client.update(PERSISTENT_VOLUMES, volume);
    for (const claim of reserved.claims) await client.update(PERSISTENT_VOLUME_CLAIMS, claim);
    const until = clock.monotonic() + timeoutMs;
    while (!this.#allBound(pod, reserved)) {
      if (clock.monotonic() >= until) throw new Error(`${FAILED}: context deadline exceeded`);
      await clock.sleep(Math.min(VOLUME_BIND_CHECK_INTERVAL_MS, until - clock.monotonic()), signal);
    }
    this.#reserved.delete(pod.uid);
  }

  #allBound(pod: PodInfo, { claims, nodeName }: Reserved): boolean {
    return pod.claims.every(({ key, name }) => {
      const claim = this.#deps.volumes.claim(key);
      if (claim === undefined) throw new Error(`${FAILED}: persistentvolumeclaim "${name}" not found`);
      if (isBound(claim)) return this.#reachesNode(claim, nodeName);
      const provisioned = claims.some(({ metadata: { uid } }) => uid === claim.metadata.uid);
      // The provisioner removes the annotation when it cannot serve this node.
      if (provisioned && selectedNodeOf(claim) !== nodeName) {
        throw new Error(`${FAILED}: provisioning failed for PVC "${name}"`);
      }
      return false;
    });
  }

  /**
   * False while the volume is not known yet. Throws when the claim got a volume that the node cannot use: others bind,
   * too.
   */
  #reachesNode({ spec: { volumeName = '' } }: PersistentVolumeClaim, nodeName: string): boolean {
    const node = this.#deps.cluster.node(nodeName);
    if (node === undefined) throw new Error(`${FAILED}: node "${nodeName}" not found`);
    const volume = this.#deps.volumes.volume(volumeName);
    if (volume === undefined || reaches(volume, node)) return volume !== undefined;
    const mismatch = `pv "${volumeName}" node affinity doesn't match node "${nodeName}"`;
    throw new Error(`${FAILED}: ${mismatch}: no matching NodeSelectorTerms`);
  }
}

function claimedBy(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
  const annotated = withAnnotation(volume, BOUND_BY_CONTROLLER_ANNOTATION, 'yes');
  return { ...annotated, spec: { ...volume.spec, claimRef } };
}

function withAnnotation<T extends PersistentVolume | PersistentVolumeClaim>(object: T, key: string, text: string): T {
  const annotations = { ...object.metadata.annotations, [key]: text };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
