import type { Clock } from './clock.ts';
import { describeError } from './errors.ts';
import type { Log } from './log.ts';

/** What one gets to end in order, the processes of pods among it. */
const STOP_DEADLINE_MS = 30_000;

/** An operator waits for why a start failed: what was started gets less. */
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
export async function startAll(name: string, services: readonly Service[], tools: RunningTools): Promise<Service> {
  const running = new Running(tools);
  await running.begin(async () => {
    for (const service of services) await running.start(service);
  });
  return opened(name, () => running.stop());
}

export interface RunningTools {
  readonly clock: Clock;
  readonly log: Log;
}

/** What a composition has started, in the order of its start. It is stopped in reverse: every one gets its time, whichever fails or hangs. */
export class Running {
  readonly #tools: RunningTools;
  readonly #services: Service[] = [];
  /** Whoever asks again, as a second signal does, waits for the same end. */
  #ending: Promise<unknown> = Promise.resolve();

  constructor(tools: RunningTools) {
    this.#tools = tools;
  }

  /** Runs already, or is about to start. */
  add(...services: readonly Service[]): void {
    this.#services.push(...services);
  }

  async start(service: Service): Promise<void> {
    this.add(service);
    await service.start();
  }

  /** Where `start` fails, what it had added is stopped before this rejects with why; what hinders that end is less to know, and is told in the log. */
  async begin(start: () => Promise<void>): Promise<void> {
    try {
      await start();
    } catch (error) {
      await this.#stop(STOP_AFTER_FAILURE_MS).catch((hindered: unknown) =>
        this.#tools.log.error('what was started could not be stopped', { error: describeError(hindered) }),
      );
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.#stop(STOP_DEADLINE_MS);
  }

  async #stop(deadlineMs: number): Promise<void> {
    const stopping = stopInReverse(this.#services.splice(0), (service) =>
      stopInTime(service, deadlineMs, this.#tools.clock),
    );
    this.#ending = Promise.all([this.#ending, stopping]);
    await this.#ending;
  }
}

/** Stops all of them, whichever fails; rejects with every failure. */
export async function stopInReverse<S extends Pick<Service, 'stop'>>(
  services: readonly S[],
  stop = (service: S): Promise<void> => service.stop(),
): Promise<void> {
  const failures: unknown[] = [];
  for (const service of services.toReversed()) {
    try {
      await stop(service);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 1) throw new AggregateError(failures, failures.map(describeError).join('; '));
  if (failures.length === 1) throw failures[0];
}

function stopInTime(service: Service, deadlineMs: number, clock: Clock): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = clock.timer(deadlineMs, () =>
    reject(new Error(`${service.name} did not stop within ${deadlineMs / 1000} s`)),
  );
  // In a function that waits: one that throws before it answers has its timer ended, too.
  const ending = (async () => service.stop())();
  return Promise.race([ending, late]).finally(() => timer.cancel());
}
