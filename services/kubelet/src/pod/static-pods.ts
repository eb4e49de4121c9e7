import { isMirrorPod, isTerminating, NODES, type Node, PODS, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { semanticEqual } from '@holdfast/machinery';
import type { Clock, Log, Timer } from '@holdfast/platform';
import { mirroredUid, mirrorIsStale, mirrorOf, terminating } from '../domain/static-pod.ts';
import { statusPatch } from '../domain/status-patch.ts';
import { MIRROR_RETRY_MS } from '../limits.ts';
import type { PodObject } from './pod-object.ts';

/** The pods of this node's files. Returns the current ones immediately, and reports changes. */
export interface StaticPodSource {
  start(onChange: (pods: readonly Pod[]) => void): Promise<void>;
  stop(): void;
}

export interface StaticPodsDeps {
  readonly source: StaticPodSource;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  /** The mirrors that the API has, as far as known. */
  readonly mirrors: () => readonly Pod[];
}

/**
 * The objects of static pods: kept here, not in the API, so that they start, restart and end without it. The API shows a
 * mirror of each, which follows and never leads: whatever becomes of it there is put right again.
 */
export class StaticPods {
  readonly #deps: StaticPodsDeps;
  /** By UID, including pods whose file is gone, until they have ended. */
  readonly #pods = new Map<string, Pod>();
  #offer: (pod: Pod) => void = () => {};
  #version = 1;
  #wanted = false;
  #syncing: Promise<void> | undefined;
  #retry: Timer | undefined;
  #node: Node | undefined;
  #stopped = false;
  /** A mirror without a pod is only removed once the files were read. */
  #isRead = false;

  constructor(deps: StaticPodsDeps) {
    this.#deps = deps;
  }

  readonly object: PodObject = {
    read: ({ uid }) => Promise.resolve(this.#pods.get(uid)),
    writeStatus: (pod, status) => {
      const { uid = '' } = pod.metadata;
      // Gone meanwhile, or changed: the worker looks again.
      const known = this.#pods.get(uid) ?? pod;
      const written = this.#versioned({ ...known, status });
      if (this.#pods.has(uid)) this.#pods.set(uid, written);
      this.sync();
      return Promise.resolve(written);
    },
    remove: ({ uid }) => {
      this.#pods.delete(uid);
      this.sync();
      return Promise.resolve();
    },
  };

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** Pods are offered as they come, change and end. */
  async start(offer: (pod: Pod) => void): Promise<void> {
    this.#offer = offer;
    await this.#deps.source.start((pods) => this.#read(pods));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deps.source.stop();
    this.#retry?.cancel();
    await this.#syncing;
  }

  /** Returns the pod of an API object: itself, or the pod that it mirrors. */
  behind(pod: Pod | undefined): Pod | undefined {
    if (pod === undefined || !isMirrorPod(pod)) return pod;
    return this.#pods.get(mirroredUid(pod) ?? '') ?? pod;
  }

  /** Something may differ between the pods and their mirrors. */
  sync(): void {
    this.#wanted = true;
    if (this.#stopped || !this.#isRead) return;
    this.#syncing ??= this.#syncAll().finally(() => {
      this.#syncing = undefined;
    });
  }

  #read(pods: readonly Pod[]): void {
    this.#isRead = true;
    const { clock } = this.#deps;
    const read = new Map(pods.map((pod) => [pod.metadata.uid ?? '', pod]));
    for (const [uid, pod] of this.#pods) {
      if (read.has(uid) || isTerminating(pod)) continue;
      this.#put(terminating(pod, clock.now()));
    }
    for (const [uid, pod] of read) if (!this.#pods.has(uid)) this.#put(pod);
    this.sync();
  }

  #put(pod: Pod): void {
    const versioned = this.#versioned(pod);
    this.#pods.set(pod.metadata.uid ?? '', versioned);
    this.#offer(versioned);
  }

  #versioned(pod: Pod): Pod {
    this.#version += 1;
    return { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version) } };
  }

  async #syncAll(): Promise<void> {
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      this.#retry?.cancel();
      try {
        await this.#removeStale();
        for (const pod of this.#shown().values()) await this.#syncOne(pod);
      } catch (error) {
        if (this.#stopped) return;
        this.#deps.log.warn('mirrors of static pods are not up to date, will retry', { error });
        this.#retry = this.#deps.clock.timer(MIRROR_RETRY_MS, () => this.sync());
      }
    }
  }

  /** One per name: the new pod of a changed file waits until the old one has ended. */
  #shown(): ReadonlyMap<string, Pod> {
    const shown = new Map<string, Pod>();
    for (const pod of this.#pods.values()) {
      const key = nameOf(pod);
      if (!shown.has(key)) shown.set(key, pod);
    }
    return shown;
  }

  async #removeStale(): Promise<void> {
    const shown = this.#shown();
    for (const mirror of this.#deps.mirrors())
      if (mirrorIsStale(mirror, shown.get(nameOf(mirror)))) await this.#remove(mirror);
  }

  async #syncOne(pod: Pod): Promise<void> {
    const { client } = this.#deps;
    const { namespace = '', name = '' } = pod.metadata;
    let mirror = await client.find(PODS, { namespace, name });
    // Somebody's pod of that name: it is not ours to remove.
    if (mirror !== undefined && !isMirrorPod(mirror)) return;
    if (mirror !== undefined && mirrorIsStale(mirror, pod)) {
      await this.#remove(mirror);
      mirror = undefined;
    }
    mirror ??= await client.create(PODS, mirrorOf(pod, await this.#ownNode()));
    const status = { ...mirror.status, ...pod.status };
    if (semanticEqual(mirror.status, status)) return;
    const body = statusPatch(mirror, status);
    await client.patch(PODS, { namespace, name }, { type: 'merge', body, subresource: 'status' });
  }

  async #remove({ metadata }: Pod): Promise<void> {
    const { uid = '', namespace = '', name = '' } = metadata;
    await this.#deps.client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0, uid }).catch(ignoreGone);
  }

  async #ownNode(): Promise<Node> {
    this.#node ??= await this.#deps.client.get(NODES, { name: this.#deps.nodeName });
    return this.#node;
  }
}

const nameOf = ({ metadata }: Pod): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

function ignoreGone(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && (error.code === 404 || error.code === 409))) throw error;
}
