import type { Fetch } from './api.ts';
import type { Utf8 } from './channels.ts';

/** A WebSocket. What is sent after its end is lost. */
export interface Wire {
  send(bytes: Uint8Array<ArrayBuffer>): void;
  close(): void;
}

export interface WireEvents {
  opened(): void;
  message(bytes: Uint8Array): void;
  /** Once, also when it was never open. */
  closed(): void;
}

export type Wires = (path: string, protocols: readonly string[], events: WireEvents) => Wire;

/** What a page takes from its browser. Only `main.tsx` touches the browser's globals. */
export interface Machine {
  readonly fetch: Fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** `2026-11-23T17:19:42.000Z` */
  readonly iso: (ms: number) => string;
  /** Before the next frame is drawn. */
  readonly frame: (run: () => void) => void;
  /** A UUID. */
  readonly newId: () => string;
  readonly pause: (ms: number) => Promise<void>;
  /** Returns what ends it. */
  readonly every: (ms: number, run: () => void) => () => void;
  readonly wire: Wires;
  readonly utf8: Utf8;
  readonly store: {
    readonly read: (key: string) => string;
    /** An empty text removes the entry. */
    readonly write: (key: string, value: string) => void;
  };
  readonly place: {
    readonly hash: () => string;
    readonly go: (hash: string) => void;
    /** Without a step in the history of the browser. */
    readonly replace: (hash: string) => void;
    readonly changed: (run: () => void) => void;
  };
}

/** Runs at most once for each frame, however often it is asked. */
export function oncePerFrame(machine: Pick<Machine, 'frame'>, run: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    machine.frame(() => {
      isAsked = false;
      run();
    });
  };
}
