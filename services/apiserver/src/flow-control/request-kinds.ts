import { TimeWeighted } from './time-weighted.ts';

const BUCKETS = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export type Phase = 'waiting' | 'executing';
export type RequestKind = 'mutating' | 'readOnly';

export const kindOfVerb = (verb: string): RequestKind => (READS.has(verb) ? 'readOnly' : 'mutating');

interface Counted {
  readonly phase: Phase;
  readonly kind: RequestKind;
  readonly histogram: TimeWeighted;
  count: number;
}

/** Requests that are here, by whether they change something, as a part of all seats. */
export class RequestKinds {
  readonly #seats: number;
  readonly all: readonly Counted[];

  constructor(seats: number, now: number) {
    this.#seats = seats;
    const phases: readonly Phase[] = ['executing', 'waiting'];
    const kinds: readonly RequestKind[] = ['mutating', 'readOnly'];
    this.all = phases.flatMap((phase) =>
      kinds.map((kind) => ({ phase, kind, histogram: new TimeWeighted(BUCKETS, now), count: 0 })),
    );
  }

  add(phase: Phase, verb: string, { by, now }: { readonly by: 1 | -1; readonly now: number }): void {
    const kind = kindOfVerb(verb);
    const counted = this.all.find((each) => each.phase === phase && each.kind === kind);
    if (counted === undefined) return;
    counted.count += by;
    counted.histogram.set(counted.count / Math.max(1, this.#seats), now);
  }
}
