import type { Asked } from './asked.ts';
import type { ExtensionPoint, Hints, Plugin, Queueable } from './plugin.ts';

/** A plugin at one extension point of a profile. */
export interface Enabled<P extends ExtensionPoint> {
  readonly name: string;
  readonly call: NonNullable<Plugin[Called<P>]>;
}

/** `filter` and `score` are what `preFilter` and `preScore` return. */
type Called<P extends ExtensionPoint> = P extends 'filter' ? 'preFilter' : P extends 'score' ? 'preScore' : P;

export interface FilterPlugin extends Enabled<'preFilter'> {
  /** Checks that pods with equal needs share: only those before the first unshared one. */
  readonly local: boolean;
  readonly asked: Asked;
  /** `preFilter` alone can still reject or narrow; `filter` without its `preFilter` cannot work. */
  readonly runs: 'both' | 'preFilter only' | 'filter only';
}

export interface ScorePlugin extends Enabled<'preScore'> {
  readonly weight: number;
  /** Scores that pods with equal needs share. */
  readonly local: boolean;
  readonly asked: Asked;
}

/** The scheduling rules for one `schedulerName`. */
export interface Profile {
  readonly schedulerName: string;
  /** 0 = adapts to the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  readonly compare: (a: Queueable, b: Queueable) => number;
  readonly preEnqueue: readonly Enabled<'preEnqueue'>[];
  readonly filters: readonly FilterPlugin[];
  readonly postFilters: readonly Enabled<'postFilter'>[];
  readonly scorers: readonly ScorePlugin[];
  readonly reserves: readonly ReservePlugin[];
  readonly permits: readonly Enabled<'permit'>[];
  readonly preBinds: readonly Enabled<'preBind'>[];
  readonly binds: readonly Enabled<'bind'>[];
  readonly postBinds: readonly Enabled<'postBind'>[];
  readonly hints: ReadonlyMap<string, Hints>;
  /** By plugin. */
  readonly asked: ReadonlyMap<string, Asked>;
}

export interface ReservePlugin {
  readonly name: string;
  readonly reserve: Plugin['reserve'];
  readonly unreserve: Plugin['unreserve'];
}
