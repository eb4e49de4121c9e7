import type { WatchFrame } from '@holdfast/client';
import type { Clock, Timer } from '@holdfast/platform';
import { type FrameUse, type Outlet } from './outlet.ts';
import { revisionOf } from './point.ts';

/** The state that a lagging API server knows: everything up to a revision. */
export class HeldView {
  readonly #clock: Clock;
  readonly #gates = new Set<() => void>();
  #revision: number | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Absent: the present. */
  get revision(): number | undefined {
    return this.#revision;
  }

  /** `forMs`: afterwards the view catches up by itself. */
  hold(revision: number, forMs: number | undefined): void {
    this.#revision = revision;
    if (forMs !== undefined) this.#timer = this.#clock.timer(forMs, () => this.release());
  }

  release(): void {
    this.#timer?.cancel();
    this.#revision = undefined;
    const gates = [...this.#gates];
    this.#gates.clear();
    for (const open of gates) open();
  }

  shows(revision: number): boolean {
    return this.#revision === undefined || revision <= this.#revision;
  }

  /** Calls once the view is released. Returns what forgets it. */
  onRelease(open: () => void): () => void {
    this.#gates.add(open);
    return () => this.#gates.delete(open);
  }

  /** False when the view is still held after this time. */
  released(withinMs: number): Promise<boolean> {
    if (this.#revision === undefined) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = this.#clock.timer(withinMs, () => {
        forget();
        resolve(false);
      });
      const forget = this.onRelease(() => {
        timer.cancel();
        resolve(true);
      });
    });
  }
}

/** Frames behind the held revision wait, in order. A watch that ends meanwhile loses them: its client resumes without them. */
export function heldFrames(view: HeldView): FrameUse {
  const waiting: WatchFrame[] = [];
  let forget: (() => void) | undefined;
  const openFor = (outlet: Outlet) => (): void => {
    forget = undefined;
    for (const frame of waiting.splice(0)) outlet.push(frame);
  };
  return {
    frame: (frame, outlet) => {
      if (waiting.length === 0 && view.shows(revisionOf(frame.value()))) return outlet.push(frame);
      waiting.push(frame);
      forget ??= view.onRelease(openFor(outlet));
    },
    ended: () => {
      forget?.();
      waiting.length = 0;
    },
  };
}
