import type { Event } from '@holdfast/api';
import type { HistoryChange } from '../history/documents.ts';

/** The resources that a film is drawn from. */
export type FilmResource = 'nodes' | 'leases' | 'pods' | 'persistentvolumes';

/** What was read of a cluster. Nothing else decides what a film shows. */
export interface FilmMaterial {
  /** The objects as they were at the beginning. */
  readonly before: Readonly<Record<FilmResource, readonly unknown[]>>;
  /** What changed since then, oldest first; changes of other resources are ignored. */
  readonly changes: readonly HistoryChange[];
  /** What was created, by its revision. Others begin empty, and are filled by their changes. */
  readonly made: ReadonlyMap<string, unknown>;
  readonly events: readonly Event[];
  readonly fromMs: number;
  readonly toMs: number;
}

export type StepKind =
  | 'heard'
  | 'silent'
  | 'lost'
  | 'fencing'
  | 'fenced'
  | 'returned'
  | 'runs'
  | 'unknown'
  | 'leaving'
  | 'ended'
  | 'absent'
  | 'waiting'
  | 'starts'
  | 'attached'
  | 'free'
  | 'moved';

/** A state that a lane was in for a time. */
export interface Step {
  /** Its place among all steps of the film. */
  readonly id: number;
  readonly kind: StepKind;
  /** In plain English. */
  readonly name: string;
  readonly fromMs: number;
  /** The end of the film, when it lasts. */
  readonly toMs: number;
  readonly isOpen: boolean;
  /** The step that brought this one about. */
  readonly cause?: number;
  /** The user who wrote what began it, where the history knows it. */
  readonly by?: string;
}

export type LaneKind = 'node' | 'pod' | 'volume';

export interface Lane {
  readonly kind: LaneKind;
  readonly name: string;
  readonly steps: readonly Step[];
}

/** What a component said in an Event about one of the lanes. */
export interface Remark {
  readonly atMs: number;
  readonly about: string;
  readonly reason: string;
  readonly message: string;
}

/** One loss of one node. */
export interface Film {
  readonly node: string;
  /** The last heartbeat before the loss. */
  readonly lostMs: number;
  /** When the node was ready again and kept its promise. */
  readonly backMs?: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly lanes: readonly Lane[];
  /** Pods that are not shown: there were too many. */
  readonly left: number;
  readonly remarks: readonly Remark[];
  /** A sentence for each pod that is not back yet, and why. */
  readonly waits: readonly string[];
}
