import type { Clock, Ids, Log, Random, Tracer } from '@holdfast/platform';

/** What the components of one process share of their machine. */
export interface Machine {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  /** Absent when tracing is off. */
  readonly tracer?: Tracer;
}
