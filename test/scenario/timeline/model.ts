/** `life`: a process lives, `held`: a volume is attached, `fault`: something is disturbed. */
export type BarKind = 'life' | 'held' | 'fault';
/** `write`: requests that were written, `user`: what a user does, `fact`: what is stored or seen. */
export type MarkKind = 'write' | 'user' | 'fact' | 'fault';

export interface Bar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly kind: BarKind;
  readonly text: string;
  /** Bars of one shade belong together: the processes of one pod. */
  readonly shade?: number;
}

export interface Mark {
  readonly atMs: number;
  readonly kind: MarkKind;
  readonly text: string;
}

export interface Lane {
  readonly group: string;
  readonly name: string;
  readonly bars: readonly Bar[];
  readonly marks: readonly Mark[];
}

/** A rule that is broken, at its moment where that is known. */
export interface Broken {
  readonly atMs?: number;
  readonly rule: string;
  readonly story: string;
}

/** A whole run. Times count from the moment when the workloads were up. */
export interface Timeline {
  readonly title: string;
  /** What was played, in a few sentences. */
  readonly facts: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** When the faults ended. */
  readonly healedMs?: number;
  readonly lanes: readonly Lane[];
  readonly broken: readonly Broken[];
}

/** Lanes by their names, in the order in which they are first named, sorted inside their group. */
export class Lanes {
  readonly #lanes = new Map<string, { readonly group: string; readonly name: string; bars: Bar[]; marks: Mark[] }>();
  readonly #groups: readonly string[];

  constructor(groups: readonly string[]) {
    this.#groups = groups;
  }

  of(group: string, name: string): { readonly bars: Bar[]; readonly marks: Mark[] } {
    const key = `${group}\0${name}`;
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane = { group, name, bars: [], marks: [] };
    this.#lanes.set(key, lane);
    return lane;
  }

  all(): readonly Lane[] {
    const order = (lane: Lane): number => this.#groups.indexOf(lane.group);
    return [...this.#lanes.values()].toSorted((a, b) => order(a) - order(b) || a.name.localeCompare(b.name));
  }
}
