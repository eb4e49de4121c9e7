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

/** Starts services in order; what it answers stops them in reverse. */
export async function startAll(name: string, services: readonly Service[]): Promise<Service> {
  for (const service of services) await service.start();
  return opened(name, async () => {
    for (const service of services.toReversed()) await service.stop();
  });
}
