import type { WatchFrame } from '@holdfast/client';

interface Waiting {
  readonly resolve: (result: IteratorResult<WatchFrame, undefined>) => void;
  readonly reject: (error: Error) => void;
}

/** The frames of one watch on their way to the client. */
export class Outlet implements AsyncIterableIterator<WatchFrame, undefined> {
  readonly #frames: WatchFrame[] = [];
  readonly #onLeave: () => void;
  #waiting: Waiting | undefined;
  #end: { readonly error: Error | undefined } | undefined;

  /** `onLeave`: the client needs no more frames. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  push(frame: WatchFrame): void {
    if (this.#end !== undefined) return;
    const waiting = this.#take();
    if (waiting === undefined) this.#frames.push(frame);
    else waiting.resolve({ done: false, value: frame });
  }

  /** After the frames that were pushed. An error cuts the connection. */
  end(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    const waiting = this.#take();
    if (waiting === undefined) return;
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
  }

  next(): Promise<IteratorResult<WatchFrame, undefined>> {
    const frame = this.#frames.shift();
    if (frame !== undefined) return Promise.resolve({ done: false, value: frame });
    if (this.#end?.error !== undefined) return Promise.reject(this.#end.error);
    if (this.#end !== undefined) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  /** The source is read no further. */
  leave(): void {
    this.#onLeave();
  }

  return(): Promise<IteratorResult<WatchFrame, undefined>> {
    this.#frames.length = 0;
    this.end();
    this.leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}

/** What a lens does with the frames of a watch. */
export interface FrameUse {
  frame(frame: WatchFrame, outlet: Outlet): void;
  /** The server ended the watch. */
  ended?(outlet: Outlet): void;
}

/** Reads the frames of a watch at once, so that those held back do not stop it from ending. */
export function through(frames: AsyncIterable<WatchFrame>, use: FrameUse): Outlet {
  const source = frames[Symbol.asyncIterator]();
  const outlet = new Outlet(() => void source.return?.());
  void pump(source, use, outlet);
  return outlet;
}

async function pump(source: AsyncIterator<WatchFrame>, use: FrameUse, outlet: Outlet): Promise<void> {
  try {
    for (let next = await source.next(); next.done !== true; next = await source.next()) use.frame(next.value, outlet);
    use.ended?.(outlet);
    outlet.end();
  } catch (error) {
    outlet.end(error instanceof Error ? error : new Error(String(error)));
  }
}
