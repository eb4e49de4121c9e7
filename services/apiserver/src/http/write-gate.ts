import { StatusError } from '@holdfast/machinery';
import { WRITES_IN_FLIGHT_MAX } from '../limits.ts';

/** Lets so many writes through at one time and turns the others away. */
export interface WriteGate {
  pass<T>(verb: string, work: () => Promise<T>): Promise<T>;
  inFlight(): number;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export function createWriteGate(max: number = WRITES_IN_FLIGHT_MAX): WriteGate {
  let inFlight = 0;
  return {
    inFlight: () => inFlight,
    pass: async (verb, work) => {
      if (READS.has(verb)) return work();
      if (inFlight >= max) throw tooMany();
      inFlight++;
      try {
        return await work();
      } finally {
        inFlight--;
      }
    },
  };
}

const tooMany = (): StatusError =>
  new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: 'too many requests, please try again later.',
    details: { retryAfterSeconds: 1 },
  });
