import type { ApiResponse, WatchFrame } from '@holdfast/client';
import { Outlet } from './outlet.ts';

type Result = IteratorResult<WatchFrame, undefined>;

/**
 * The frames of an open watch. Until a lens takes hold of it the client reads from the server, as slowly as it likes. Then they
 * are read at once and go through each lens.
 */
export class WatchTap implements AsyncIterableIterator<WatchFrame, undefined> {
  readonly #source: AsyncIterator<WatchFrame, undefined>;
  readonly #onOver: () => void;
  #waiting: PromiseWithResolvers<Result> | undefined;
  #isPulling = false;
  /** What the client reads from, once a lens has taken hold. */
  #sink: Outlet | undefined;
  /** Where the frames of the server go: to the lens that came last. */
  #target: Outlet | undefined;

  /** `onOver`: nothing comes any more. */
  constructor(frames: AsyncIterable<WatchFrame, undefined>, onOver: () => void) {
    this.#source = frames[Symbol.asyncIterator]();
    this.#onOver = onOver;
  }

  next(): Promise<Result> {
    if (this.#sink !== undefined) return this.#sink.next();
    this.#waiting = Promise.withResolvers<Result>();
    const { promise } = this.#waiting;
    this.#pull();
    return promise;
  }

  /** From now on the client gets what `lens` makes of the frames. */
  async insert(lens: (frames: AsyncIterable<WatchFrame>) => Promise<ApiResponse>): Promise<void> {
    const after = this.#opened();
    const before = new Outlet(() => this.#leave());
    this.#target = before;
    const { body } = await lens(before);
    if (body.kind === 'watch') void pass(body.frames, after);
  }

  /** In order: the client asks again. */
  end(): void {
    this.#opened().end();
    this.#leave();
  }

  return(): Promise<Result> {
    if (this.#sink !== undefined) return this.#sink.return();
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #opened(): Outlet {
    if (this.#target !== undefined) return this.#target;
    const sink = new Outlet(() => this.#leave());
    this.#sink = sink;
    this.#target = sink;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) sink.next().then(waiting.resolve, waiting.reject);
    this.#pull();
    return sink;
  }

  #leave(): void {
    this.#onOver();
    void this.#source.return?.();
  }

  #pull(): void {
    if (this.#isPulling) return;
    this.#isPulling = true;
    this.#source.next().then(
      (result) => this.#arrived(result),
      (error: unknown) => this.#failed(error),
    );
  }

  #arrived(result: Result): void {
    this.#isPulling = false;
    if (result.done === true) this.#onOver();
    const target = this.#target;
    if (target === undefined) {
      this.#waiting?.resolve(result);
      this.#waiting = undefined;
    } else if (result.done === true) target.end();
    else {
      target.push(result.value);
      this.#pull();
    }
  }

  #failed(error: unknown): void {
    this.#onOver();
    if (this.#target === undefined) this.#waiting?.reject(error);
    else this.#target.end(error instanceof Error ? error : new Error(String(error)));
  }
}

async function pass(frames: AsyncIterable<WatchFrame>, to: Outlet): Promise<void> {
  try {
    for await (const frame of frames) to.push(frame);
    to.end();
  } catch (error) {
    to.end(error instanceof Error ? error : new Error(String(error)));
  }
}
