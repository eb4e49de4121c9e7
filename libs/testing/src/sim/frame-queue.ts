import type { WatchFrame } from '@holdfast/client';
import type { Clock, Timer } from '@holdfast/platform';

/** Passes arriving frames to the one reader of a watch and detects silence. */
export class FrameQueue implements AsyncIterable<WatchFrame> {
  readonly #clock: Clock;
  readonly #idleTimeoutMs: number;
  readonly #onIdle: () => Error;
  readonly #onClose: () => void;
  readonly #frames: WatchFrame[] = [];
  #wake: (() => void) | undefined;
  #idle: Timer;
  #ended = false;
  #error: Error | undefined;

  constructor(options: { clock: Clock; idleTimeoutMs: number; onIdle: () => Error; onClose: () => void }) {
    this.#clock = options.clock;
    this.#idleTimeoutMs = options.idleTimeoutMs;
    this.#onIdle = options.onIdle;
    this.#onClose = options.onClose;
    this.#idle = this.#startIdleTimer();
  }

  push(frame: WatchFrame): void {
    if (this.#ended) return;
    this.#idle.cancel();
    this.#idle = this.#startIdleTimer();
    this.#frames.push(frame);
    this.#wakeReader();
  }

  end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#idle.cancel();
    this.#wakeReader();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchFrame> {
    try {
      for (;;) {
        const frame = this.#frames.shift();
        if (frame !== undefined) yield frame;
        else if (this.#error !== undefined) throw this.#error;
        else if (this.#ended) return;
        else await this.#arrival();
      }
    } finally {
      this.end();
      this.#onClose();
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #startIdleTimer(): Timer {
    return this.#clock.timer(this.#idleTimeoutMs, () => this.end(this.#onIdle()));
  }
}
