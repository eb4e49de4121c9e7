import { PODS, type Pod } from '@holdfast/api';
import { type ApiClient, type Causes, createBackoff } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Log, type Random, type Tracer } from '@holdfast/platform';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Permission, Placing } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import type { StepStatus } from '../framework/timing.ts';
import { BINDINGS_IN_FLIGHT_MAX, PERMIT_WAIT_MAX_MS, POD_BACKOFF_BASE_MS, POD_BACKOFF_MAX_MS } from '../limits.ts';
import type { SchedulerMetrics } from '../metrics.ts';
import type { Recorders } from '../recorders.ts';
import type { Extender } from './extender.ts';
import { createLimiter, type Limiter } from './limiter.ts';

export interface BindingDeps {
  readonly client: ApiClient;
  readonly recorders: Pick<Recorders, 'of'>;
  readonly metrics: Pick<SchedulerMetrics, 'permitWait' | 'step'>;
  readonly extenders: readonly Extender[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  /** With tracing on, what asked for each pending pod. */
  readonly causes?: Causes | undefined;
}

/** A pod with a chosen node. */
export interface Placed {
  readonly pod: PodInfo;
  readonly nodeName: string;
  readonly profile: Profile;
  /** Permit plugins that have not decided yet. */
  readonly waits: readonly PermitWait[];
  readonly attempts: number;
  readonly addedMs: number;
  /** The start of the decision. */
  readonly startedMs: number;
}

export interface PermitWait extends Extract<Permission, { kind: 'wait' }> {
  readonly plugin: string;
}

/** Callbacks for the result of a placement. */
export interface BindingOutcomes {
  readonly onBound: (placed: Placed) => void;
  /** The placement ended before its binding. `plugin` is the one that refused; absent for failures. */
  readonly onGivenUp: (placed: Placed, why: { readonly message: string; readonly plugin?: string }) => void;
  /**
   * The API was read after a binding that was refused, unanswered or unconfirmed: `undefined` means that the pod is
   * gone.
   */
  readonly onObserved: (pod: PodInfo, current: Pod | undefined) => void;
}

class Refused extends Error {
  readonly plugin: string;
  constructor(plugin: string, message: string) {
    super(message);
    this.plugin = plugin;
  }
}

/** Treats a throw of a plugin like a rejected promise. */
function attempt(call: () => Promise<void> | undefined): Promise<void> | undefined {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Binds in the background. Every result except a plain success is settled by reading the pod: a refusal only means that
 * another write was faster, and a missing answer means nothing. Until then the assumption stays, so that the room is
 * not used twice.
 */
export class Bindings {
  readonly #deps: BindingDeps;
  readonly #outcomes: BindingOutcomes;
  readonly #stopping = new AbortController();
  readonly #limiter: Limiter = createLimiter(BINDINGS_IN_FLIGHT_MAX);
  /** Bindings that wait for something besides the API; they do not count as active. */
  readonly #waiting = new Set<Promise<void>>();

  constructor(deps: BindingDeps, outcomes: BindingOutcomes) {
    this.#deps = deps;
    this.#outcomes = outcomes;
  }

  /** Includes bindings that wait for Permit or PreBind. */
  underWay(): number {
    return this.#limiter.active() + this.#waiting.size;
  }

  /** Resolves when another binding may start. */
  place(): Promise<void> {
    return this.#limiter.place();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the scheduler is stopping'));
    await Promise.all(this.#waiting);
    await this.#limiter.idle();
  }

  /** One span from the decision to the response, without waits for other components. */
  #bindTraced(placed: Placed): Promise<void> {
    const { tracer } = this.#deps;
    if (tracer === undefined) return this.#bind(placed);
    const { namespace, name } = placed.pod;
    const attributes = { 'holdfast.key': `${namespace}/${name}`, 'holdfast.node': placed.nodeName };
    const causes = this.#deps.causes?.take(placed.pod.uid) ?? [];
    return tracer.span('bind pod', { kind: 'internal', root: true, causes, attributes }, () => this.#bind(placed));
  }

  start(placed: Placed): void {
    const prepared = this.#prepare(placed);
    if (prepared === undefined) {
      this.#limiter.start(() => this.#bindTraced(placed));
      return;
    }
    const ended = prepared.finally(() => this.#waiting.delete(ended));
    this.#waiting.add(ended);
  }

  observe(pod: PodInfo): void {
    this.#limiter.start(() => this.#observe(pod));
  }

  /** Runs Permit and PreBind; `undefined` when none of them has to wait, as for most pods. */
  #prepare(placed: Placed): Promise<void> | undefined {
    if (placed.waits.length > 0) return this.#await(placed, 0, undefined);
    const { preBinds } = placed.profile;
    for (const [i, { call }] of preBinds.entries()) {
      const first = attempt(() => call(this.#placing(placed)));
      if (first !== undefined) return this.#await(placed, i + 1, first);
    }
    return undefined;
  }

  /** `first`: the promise of the PreBind plugin number `from`. */
  async #await(placed: Placed, from: number, first: Promise<void> | undefined): Promise<void> {
    try {
      if (placed.waits.length > 0) await this.#permittedByAll(placed);
      await this.#timed(placed, 'PreBind', async () => {
        await first;
        for (const { call } of placed.profile.preBinds.slice(from)) await call(this.#placing(placed));
      });
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const plugin = error instanceof Refused ? { plugin: error.plugin } : {};
      this.#outcomes.onGivenUp(placed, { message: describeError(error), ...plugin });
      return;
    }
    this.#limiter.start(() => this.#bindTraced(placed));
  }

  #placing({ pod, nodeName }: Placed): Placing {
    return { pod, nodeName, signal: this.#stopping.signal };
  }

  async #permittedByAll({ waits }: Placed): Promise<void> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    let result: 'Success' | 'Unschedulable' = 'Unschedulable';
    try {
      for (const wait of waits) await this.#permitted(wait);
      result = 'Success';
    } finally {
      metrics.permitWait(result, (clock.monotonic() - startedMs) / 1_000);
    }
  }

  async #timed({ profile }: Placed, point: string, run: () => Promise<void>): Promise<void> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    let status: StepStatus = 'Error';
    try {
      await run();
      status = 'Success';
    } finally {
      metrics.step(profile.schedulerName, point, status, (clock.monotonic() - startedMs) / 1_000);
    }
  }

  async #permitted({ plugin, answer, timeoutMs }: PermitWait): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { signal } = this.#stopping;
    const timer = this.#deps.clock.timer(Math.min(timeoutMs, PERMIT_WAIT_MAX_MS), () =>
      resolve(`rejected due to timeout after waiting ${timeoutMs} ms at plugin ${plugin}`),
    );
    const stop = (): void => resolve('the scheduler is stopping');
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      const refusal = await Promise.race([answer, promise]);
      if (refusal !== undefined) throw new Refused(plugin, refusal);
    } finally {
      signal.removeEventListener('abort', stop);
      timer.cancel();
    }
  }

  async #bind(placed: Placed): Promise<void> {
    const { log, recorders } = this.#deps;
    const { pod, nodeName, profile } = placed;
    if (this.#stopping.signal.aborted) return;
    try {
      await this.#timed(placed, 'Bind', () => this.#bindBy(placed));
      this.#outcomes.onBound(placed);
      const message = `Successfully assigned ${pod.key} to ${nodeName}`;
      const recorder = recorders.of(profile.schedulerName);
      recorder.event(pod.pod, { type: 'Normal', reason: 'Scheduled', action: 'Binding', message });
      for (const { call } of profile.postBinds) call(pod, nodeName);
    } catch (error) {
      log.info('a binding was not confirmed, reading the pod', { pod: pod.key, node: nodeName, error });
      await this.#observe(pod);
    }
  }

  async #bindBy(placed: Placed): Promise<void> {
    const { pod, nodeName, profile } = placed;
    for (const extender of this.#deps.extenders) if (await extender.bind(pod, nodeName)) return;
    const placing = this.#placing(placed);
    for (const { call } of profile.binds) if ((await call(placing)) === 'bound') return;
    throw new Error(`no bind plugin of ${profile.schedulerName} accepted the pod`);
  }

  async #observe(pod: PodInfo): Promise<void> {
    const { client, clock, random, log } = this.#deps;
    const { signal } = this.#stopping;
    const backoff = createBackoff({ clock, random, baseMs: POD_BACKOFF_BASE_MS, maxMs: POD_BACKOFF_MAX_MS });
    while (!signal.aborted) {
      try {
        const current = await client.find(PODS, { namespace: pod.namespace, name: pod.name });
        this.#outcomes.onObserved(pod, current?.metadata.uid === pod.uid ? current : undefined);
        return;
      } catch (error) {
        const level = error instanceof StatusError ? 'warn' : 'debug';
        log[level]('a pod could not be read after its binding, trying again', { pod: pod.key, error });
        await backoff.wait(signal).catch(() => {});
      }
    }
  }
}
