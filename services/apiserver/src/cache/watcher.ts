import type { WatchFrame } from '@holdfast/client';
import { Fifo } from '@holdfast/platform';
import { WATCHER_QUEUE_BYTES_MAX } from '../limits.ts';
import { type CacheEvent, objectFrame, type WatchType } from './cache-event.ts';
import type { CachedObject } from './cached-object.ts';
import { type Selection, selects } from './selection.ts';

/** Turns one selected change into a frame; the default shares the event's own bytes. */
export type RenderFrame = (type: WatchType, object: CachedObject, event: CacheEvent | undefined) => WatchFrame;

export const shareFrame: RenderFrame = (type, object, event) =>
  event !== undefined && event.current === object ? event.frame(type) : objectFrame(type, object);

export interface WatcherOptions {
  readonly selection: Selection;
  /** Changes at or below this revision are not delivered. */
  readonly after: number;
  readonly queueFramesMax: number;
  readonly render: RenderFrame;
  /** Told the revision of each frame when the client takes it. */
  readonly delivered?: ((revision: number) => void) | undefined;
  /** Told what happened that must not: the watcher was cut. */
  readonly broken?: ((story: string) => void) | undefined;
  /** Called once when the watcher ended, for whatever reason. */
  readonly onEnd: (watcher: Watcher) => void;
}

type Taken = IteratorResult<WatchFrame>;

interface Unmade {
  readonly make: () => WatchFrame;
  /** 0 = of the initial state. */
  readonly revision: number;
}

interface Pending extends Unmade {
  /** Bytes of a change; the initial state is in the cache anyway. */
  readonly bytes: number;
}

/** One open watch: a bounded queue between the feed and one client. A client that falls behind is disconnected. */
export class Watcher implements AsyncIterable<WatchFrame> {
  readonly selection: Selection;
  readonly #options: WatcherOptions;
  readonly #queue = new Fifo<Pending>();
  #queuedBytes = 0;
  /** Frames of the initial state still queued: as many as the resource has objects, whatever the client's pace. */
  #initialFrames = 0;
  #after: number;
  /** The revision of the last bookmark: the client believes that it has heard of everything up to it. */
  #promised = 0;
  #ended = false;
  #waiting: PromiseWithResolvers<Taken> | undefined;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.selection = options.selection;
    this.#after = options.after;
  }

  /** Delivers a change as this watcher sees it: entering the selection is ADDED, leaving it is DELETED. */
  offer(event: CacheEvent): void {
    if (event.revision <= this.#after) return;
    if (event.revision <= this.#promised) return this.#breakOff(event.revision);
    this.#after = event.revision;
    const seen = this.#view(event);
    if (seen !== undefined) {
      const { revision, current } = event;
      this.enqueue(() => this.#options.render(seen.type, seen.object, event), { revision, bytes: current.size });
    }
  }

  /** Tells the client that it has heard of everything up to a revision. */
  promise(make: () => WatchFrame, revision: number): void {
    this.#promised = Math.max(this.#promised, revision);
    this.enqueue(make, { revision });
  }

  /** Appends a frame in order; it is rendered when the client takes it. */
  enqueue(
    make: () => WatchFrame,
    { revision, bytes = 0 }: { readonly revision: number; readonly bytes?: number },
  ): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting = undefined;
      void this.#handOver({ make, revision }, waiting);
      return;
    }
    this.#queue.push({ make, bytes, revision });
    this.#queuedBytes += bytes;
    if (
      this.#queue.size - this.#initialFrames > this.#options.queueFramesMax ||
      this.#queuedBytes > WATCHER_QUEUE_BYTES_MAX
    ) {
      this.cut();
    }
  }

  /** The state of the selection at the start, before the first change. */
  offerInitial(objects: readonly CachedObject[]): void {
    for (const object of objects) {
      this.#queue.push({ make: () => this.#options.render('ADDED', object, undefined), bytes: 0, revision: 0 });
    }
    this.#initialFrames += objects.length;
  }

  /** Ends after what is queued was taken. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.onEnd(this);
    this.#waiting?.resolve({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  /** Ends now and drops what is queued. */
  cut(): void {
    this.#queue.clear();
    this.#queuedBytes = 0;
    this.#initialFrames = 0;
    this.end();
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchFrame> {
    return {
      next: () => this.#next(),
      return: () => {
        this.cut();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  /** Invariant I10: no change comes behind a bookmark that counts it in. */
  #breakOff(revision: number): void {
    this.#options.broken?.(`a change of revision ${revision} came behind a bookmark of ${this.#promised}`);
    this.cut();
  }

  #next(): Promise<Taken> {
    const next = this.#queue.shift();
    if (next !== undefined) {
      this.#queuedBytes -= next.bytes;
      if (this.#initialFrames > 0) this.#initialFrames--;
      return this.#handOver(next, Promise.withResolvers());
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  /**
   * A frame that cannot be made breaks the stream of its client and nothing else. Nobody calls `return` of an iterator
   * whose `next` has failed.
   */
  #handOver({ make, revision }: Unmade, to: PromiseWithResolvers<Taken>): Promise<Taken> {
    try {
      const value = make();
      if (revision > 0) this.#options.delivered?.(revision);
      to.resolve({ done: false, value });
    } catch (error) {
      this.cut();
      to.reject(error);
    }
    return to.promise;
  }

  #view(event: CacheEvent): { readonly type: WatchType; readonly object: CachedObject } | undefined {
    const before = event.previous !== undefined && selects(this.selection, event.previous);
    if (event.kind === 'deleted') {
      return before || (event.previous === undefined && selects(this.selection, event.current))
        ? { type: 'DELETED', object: event.current }
        : undefined;
    }
    const now = selects(this.selection, event.current);
    if (now) return { type: before ? 'MODIFIED' : 'ADDED', object: event.current };
    if (!before || event.previous === undefined) return undefined;
    return { type: 'DELETED', object: event.previous.atRevision(event.revision) };
  }
}
