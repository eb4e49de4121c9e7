import { StatusError } from '@holdfast/machinery';
import { isSystemComponent, type User } from '../authentication/identity.ts';
import { WRITES_IN_FLIGHT_MAX, WRITES_RESERVED } from '../limits.ts';

/**
 * Lets so many writes through at one time and turns the others away. Some places are for components of the system alone, and no other user
 * has more than half of what is left. What work throws at once was never under way.
 */
export interface WriteGate {
  pass<T>(verb: string, user: User, work: () => Promise<T>): Promise<T>;
  inFlight(): number;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export function createWriteGate(max: number = WRITES_IN_FLIGHT_MAX, reserved: number = WRITES_RESERVED): WriteGate {
  const ofUsers = new Map<string, number>();
  const forAll = max - reserved;
  const forOne = Math.ceil(forAll / 2);
  let inFlight = 0;
  const leave = (name: string): void => {
    inFlight--;
    const left = (ofUsers.get(name) ?? 1) - 1;
    if (left === 0) ofUsers.delete(name);
    else ofUsers.set(name, left);
  };
  const hasRoom = (user: User): boolean => {
    if (inFlight < forOne) return true;
    if (isSystemComponent(user)) return inFlight < max;
    return inFlight < forAll && (ofUsers.get(user.name) ?? 0) < forOne;
  };
  return {
    inFlight: () => inFlight,
    pass: (verb, user, work) => {
      if (READS.has(verb)) return work();
      if (!hasRoom(user)) return Promise.reject(tooMany());
      const done = work();
      const { name } = user;
      inFlight++;
      ofUsers.set(name, (ofUsers.get(name) ?? 0) + 1);
      const ended = (): void => leave(name);
      done.then(ended, ended);
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
