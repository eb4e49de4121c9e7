import type { Node } from '@holdfast/api';
import type { EventRecorder } from '@holdfast/client';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import type { ContainerRuntime } from '../runtime/port.ts';
import { decideContainers } from './decide-containers.ts';
import {
  type DiskRoom,
  decideImages,
  type ImageMemory,
  type ImageObservation,
  rememberImages,
  unusedImages,
} from './decide-images.ts';
import { CONTAINER_GARBAGE_MS, IMAGE_GARBAGE_MS } from './limits.ts';
import type { GarbagePolicy } from './policy.ts';

export interface CollectorDeps {
  readonly policy: GarbagePolicy;
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** The object of this node, for events. */
  readonly node: () => Node | undefined;
  /** Returns the file system of this path; `undefined` when it is not measured. */
  readonly roomOf: (path: string) => Promise<DiskRoom | undefined>;
}

/** Removes unused containers every minute and unused images every five, as in Kubernetes. */
export class GarbageCollector {
  readonly #deps: CollectorDeps;
  readonly #startedAt: number;
  #timers: readonly Timer[] = [];
  #memory: ImageMemory | undefined;
  #stopped = false;
  /** The first failure is often that of a runtime that has not measured yet. */
  #imagesFailed = false;

  constructor(deps: CollectorDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
  }

  start(): void {
    this.#repeat(CONTAINER_GARBAGE_MS, () => this.collectContainers());
    if (this.#deps.runtime.images === undefined) return;
    void this.#observe().catch(() => undefined);
    this.#repeat(IMAGE_GARBAGE_MS, () => this.collectImages());
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
  }

  /** Never rejects. */
  async collectContainers(): Promise<void> {
    const { runtime, policy, clock } = this.#deps;
    try {
      const { containers, sandboxes } = decideContainers(policy.containers, await runtime.list(), clock.now());
      for (const id of containers) await this.#removeOne(runtime.removeContainer(id));
      for (const id of sandboxes) await this.#removeOne(runtime.removeSandbox(id));
    } catch (error) {
      this.#tell('ContainerGCFailed', describeError(error));
    }
  }

  /** A failed removal does not block others. */
  async #removeOne(removal: Promise<void>): Promise<void> {
    try {
      await removal;
    } catch (error) {
      this.#tell('ContainerGCFailed', describeError(error));
    }
  }

  /** Never rejects. */
  async collectImages(): Promise<void> {
    try {
      await this.#freeImages();
      this.#imagesFailed = false;
    } catch (error) {
      if (this.#imagesFailed) this.#tell('ImageGCFailed', describeError(error));
      else this.#deps.log.warn('images not collected', { error });
      this.#imagesFailed = true;
    }
  }

  /**
   * The node has disk pressure: removes all unused images and containers before any pod is evicted, except images that
   * were pulled a moment ago for a starting container. Resolves with the number of bytes.
   */
  async reclaim(): Promise<number> {
    await this.collectContainers();
    const observed = await this.#observe();
    if (observed === undefined) return 0;
    const now = this.#deps.clock.monotonic();
    const unused = unusedImages(this.#deps.policy.images, { ...observed, now }, this.#memory ?? new Map());
    return this.#remove(unused, Number.POSITIVE_INFINITY);
  }

  async #freeImages(): Promise<void> {
    const { policy, clock, events, node } = this.#deps;
    const observed = await this.#observe();
    const disk = await this.#room();
    if (observed === undefined || this.#memory === undefined) return;
    if (disk?.capacityBytes === 0) throw new Error('invalid capacity 0 on image filesystem');
    const room = disk ?? { capacityBytes: 0, availableBytes: 0 };
    const facts = { ...observed, now: clock.monotonic(), disk: room, startedAt: this.#startedAt };
    const { old, remove, wantedBytes } = decideImages(policy.images, facts, this.#memory);
    for (const id of old) await this.#deps.runtime.images?.remove(id);
    const freed = await this.#remove(remove, wantedBytes);
    if (freed >= wantedBytes) return;
    const message =
      'Failed to garbage collect required amount of images. ' +
      `Attempted to free ${wantedBytes} bytes, but only found ${freed} bytes eligible to free.`;
    const object = node();
    if (object !== undefined) events.event(object, { type: 'Warning', reason: 'FreeDiskSpaceFailed', message });
    throw new Error(message);
  }

  /** A failed removal does not block others. */
  async #remove(
    images: readonly { readonly id: string; readonly sizeBytes: number }[],
    wanted: number,
  ): Promise<number> {
    let freed = 0;
    const failures: unknown[] = [];
    for (const { id, sizeBytes } of images) {
      if (freed >= wanted || this.#stopped) break;
      try {
        await this.#deps.runtime.images?.remove(id);
        freed += sizeBytes;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0 && freed < wanted && wanted !== Number.POSITIVE_INFINITY)
      throw new Error(
        `wanted to free ${wanted} bytes, but freed ${freed} bytes space with errors in image deletion: ${failures.map(describeError).join('; ')}`,
      );
    return freed;
  }

  async #observe(): Promise<ImageObservation | undefined> {
    const { runtime, clock } = this.#deps;
    if (runtime.images === undefined) return undefined;
    const [images, used] = await Promise.all([runtime.images.list(), runtime.images.used()]);
    const observed = { images, used, now: clock.monotonic() };
    this.#memory = rememberImages(this.#memory, observed);
    return observed;
  }

  async #room(): Promise<DiskRoom | undefined> {
    const directory = await this.#deps.runtime.images?.directory();
    return directory === undefined ? undefined : this.#deps.roomOf(directory);
  }

  #repeat(everyMs: number, work: () => Promise<void>): void {
    let timer: Timer | undefined;
    const again = (): void => {
      if (this.#stopped) return;
      const next = this.#deps.clock.timer(everyMs, () => void work().finally(again));
      this.#timers = [...this.#timers.filter((each) => each !== timer), next];
      timer = next;
    };
    again();
  }

  #tell(reason: string, message: string): void {
    const { log, events, node } = this.#deps;
    log.warn('garbage not collected', { reason, message });
    const object = node();
    if (object !== undefined) events.event(object, { type: 'Warning', reason, message });
  }
}
