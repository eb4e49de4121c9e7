import type { Clock } from './clock.ts';
import { describeError, OperatorError } from './errors.ts';
import type { Log } from './log.ts';

/** Deadline of an orderly stop, which includes the processes of pods. */
const STOP_DEADLINE_MS = 30_000;

/** Shorter after a failed start, because an operator waits for the error. */
const STOP_AFTER_FAILURE_MS = 10_000;

/** The interface of every service to its composition. Both calls are idempotent. */
export interface Service {
  readonly name: string;
  /** Resolves when the service works. Rejects with a sentence that an operator can act on. */
  start(): Promise<void>;
  /** Resolves when nothing of the service runs any more. */
  stop(): Promise<void>;
}

/** Wraps a resource that is already open and only needs to be closed. */
export const opened = (name: string, close: () => Promise<void>): Service => ({
  name,
  start: async () => {},
  stop: close,
});

/**
 * Starts services in order. The returned service stops them in reverse order. When one fails to start, this stops it
 * and all before it, and rejects with the reason.
 */
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

/**
 * The started services of a composition, in order of their start. They stop in reverse order. Each gets its time, even
 * when another one fails or hangs.
 */
export class Running {
  readonly #tools: RunningTools;
  readonly #services: Service[] = [];
  /** A repeated call, such as a second signal, waits for the same stop. */
  #ending: Promise<unknown> = Promise.resolve();
  /** Settles with the start that goes on now. */
  #beginning: Promise<void> | undefined;
  #isGivenUp = false;

  constructor(tools: RunningTools) {
    this.#tools = tools;
  }

  /** Adds services that run already or start now. Throws when the start is given up: then they are stopped, too. */
  add(...services: readonly Service[]): void {
    this.#services.push(...services);
    this.#continueUnlessGivenUp();
  }

  async start(service: Service): Promise<void> {
    this.#continueUnlessGivenUp();
    this.add(service);
    await service.start();
    // A stop during its start may have found nothing to stop.
    if (this.#isGivenUp) this.add(service);
  }

  /**
   * Runs `start`. When it fails, or `stop` gives it up, this stops the services that it added and rejects with its
   * error. Errors of that stop go only to the log.
   */
  async begin(start: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#beginning = promise;
    try {
      await start();
      this.#continueUnlessGivenUp();
    } catch (error) {
      await this.#stop(STOP_AFTER_FAILURE_MS).catch((hindered: unknown) =>
        this.#tools.log.error('services could not be stopped after a failed start', { error: describeError(hindered) }),
      );
      throw this.#isGivenUp ? givenUp(error) : error;
    } finally {
      this.#beginning = undefined;
      this.#isGivenUp = false;
      resolve();
    }
  }

  /** During a start this gives it up, and resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    const stopping = this.#stop(STOP_DEADLINE_MS);
    const beginning = this.#beginning;
    if (beginning === undefined) return stopping;
    this.#isGivenUp = true;
    const start = { name: 'the start', stop: () => beginning };
    await Promise.all([stopping, stopInTime(start, STOP_DEADLINE_MS, this.#tools.clock)]);
  }

  #continueUnlessGivenUp(): void {
    if (this.#isGivenUp) throw givenUp();
  }

  async #stop(deadlineMs: number): Promise<void> {
    const stopping = stopInReverse(this.#services.splice(0), (service) =>
      stopInTime(service, deadlineMs, this.#tools.clock),
    );
    this.#ending = Promise.all([this.#ending, stopping]);
    await this.#ending;
  }
}

const givenUp = (cause?: unknown): OperatorError =>
  new OperatorError({ code: 'StartGivenUp', message: 'the start was given up', nextStep: 'Start it again.', cause });

/** Stops all of them even when some fail. Rejects with every failure. */
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

function stopInTime(service: Pick<Service, 'name' | 'stop'>, deadlineMs: number, clock: Clock): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = clock.timer(deadlineMs, () =>
    reject(new Error(`${service.name} did not stop within ${deadlineMs / 1000} s`)),
  );
  // An async function also turns a synchronous throw into a rejection, so the timer is always cancelled.
  const ending = (async () => service.stop())();
  return Promise.race([ending, late]).finally(() => timer.cancel());
}
