import { StatusError } from '@holdfast/machinery';
import { WRITES_IN_FLIGHT_MAX } from '../limits.ts';

/** Lets so many writes through at one time and turns the others away. What work throws at once was never under way. */
export interface WriteGate {
  pass<T>(verb: string, work: () => Promise<T>): Promise<T>;
  inFlight(): number;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export function createWriteGate(max: number = WRITES_IN_FLIGHT_MAX): WriteGate {
  let inFlight = 0;
  const leave = (): void => {
    inFlight--;
  };
  return {
    inFlight: () => inFlight,
    pass: (verb, work) => {
      if (READS.has(verb)) return work();
      if (inFlight >= max) return Promise.reject(tooMany());
      const done = work();
      inFlight++;
      done.then(leave, leave);
      return done;
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
