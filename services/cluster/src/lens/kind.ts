import type { ApiHandler, ApiResponse } from '@holdfast/client';
import type { Clock, Random } from '@holdfast/platform';
import type { Asked } from './asked.ts';
import type { Setting } from './settings.ts';

/** What a lens does to the requests that it selects. */
export interface Lensing {
  /** Rejects with a `StatusError` for an answer of that kind, or with a `TransportError` for a connection that is cut. */
  handle(asked: Asked, next: ApiHandler): Promise<ApiResponse>;
  /** False: the request passes and is not counted. */
  applies?(asked: Asked): boolean;
  /** Also sees the selected requests while the lens is off, for example to hold back a watch that is open already. */
  pass?(asked: Asked, next: ApiHandler): Promise<ApiResponse>;
  on?(): void | Promise<void>;
  off?(): void;
}

export interface LensingDeps {
  /** The clock of the cluster. */
  readonly clock: Clock;
  readonly random: Random;
  /** The present revision of the store. */
  readonly revision: () => Promise<number>;
  /** Called at the moment of the fault, which goes on when it resolves. */
  readonly onHit: (asked: Asked) => Promise<void>;
}

/** One kind of lens. A new one is a file here and a line in the registry. */
export interface LensKind<S> {
  readonly summary: string;
  /**
   * True: the client sees a state that a correct but slow API server could have shown. False: the server refuses or fails
   * although it did not have to.
   */
  readonly isView: boolean;
  /** The verbs that it is about; absent: all. */
  readonly verbs?: readonly string[];
  readonly settings: Readonly<Record<keyof S, Setting>>;
  open(settings: S, deps: LensingDeps): Lensing;
}
