import type { Clock, Ids, Log, Random, Tracer } from '@holdfast/platform';

/** What every component of one process shares of the machine it runs on. */
export interface Machine {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  /** Absent: nobody wants traces. */
  readonly tracer?: Tracer;
}
