import { createSystemClock } from './clock.ts';

/** An operator waits for why a start failed: no longer than this for what was started to end. */
const STOP_AFTER_FAILURE_MS = 10_000;

/** What every service is to its composition. Both calls are idempotent. */
export interface Service {
  readonly name: string;
  /** Resolves when the service does its work; rejects with a sentence an operator can act on. */
  start(): Promise<void>;
  /** Resolves when nothing of the service runs any more. */
  stop(): Promise<void>;
}

/** What was opened before, and only needs an end. */
export const opened = (name: string, close: () => Promise<void>): Service => ({
  name,
  start: async () => {},
  stop: close,
});

/** Starts services in order; what it answers stops them in reverse. When one does not start, it and those before it are stopped before this rejects with why. */
export async function startAll(name: string, services: readonly Service[]): Promise<Service> {
  const begun: Service[] = [];
  try {
    for (const service of services) {
      begun.push(service);
      await service.start();
    }
  } catch (error) {
    // What hinders the end of one is less to know than why the start failed, and keeps none of the others running.
    await withinDeadline(stopInReverse(begun).catch(() => {}));
    throw error;
  }
  return opened(name, () => stopInReverse(services));
}

/** Stops all of them, whichever fails; rejects with the first failure. */
async function stopInReverse(services: readonly Service[]): Promise<void> {
  const failures: unknown[] = [];
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function withinDeadline(ending: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = createSystemClock().timer(STOP_AFTER_FAILURE_MS, resolve);
  return Promise.race([ending, late]).finally(() => timer.cancel());
}
