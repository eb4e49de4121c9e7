import { PODS, type Pod } from '@holdfast/api';
import { type ApiClient, createBackoff, type EventRecorder } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock, Log, Random } from '@holdfast/platform';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Binder } from '../framework/plugin.ts';
import { BINDINGS_IN_FLIGHT_MAX, POD_BACKOFF_BASE_MS, POD_BACKOFF_MAX_MS } from '../limits.ts';
import { createLimiter, type Limiter } from './limiter.ts';

export interface BindingDeps {
  readonly client: ApiClient;
  readonly binder: Binder;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What became of a placement. */
export interface BindingOutcomes {
  readonly onBound: (pod: PodInfo) => void;
  /** The API was asked after a binding that was refused, unanswered or not seen: `undefined` = the pod is gone. */
  readonly onObserved: (pod: PodInfo, current: Pod | undefined) => void;
}

/**
 * Binds in the background. Every end but a plain success is settled by reading the pod: a refusal says only that somebody was
 * faster, and no answer says nothing. Until then the assumption stays, so that its place is not given away twice.
 */
export class Bindings {
  readonly #deps: BindingDeps;
  readonly #outcomes: BindingOutcomes;
  readonly #stopping = new AbortController();
  readonly #limiter: Limiter = createLimiter(BINDINGS_IN_FLIGHT_MAX);

  constructor(deps: BindingDeps, outcomes: BindingOutcomes) {
    this.#deps = deps;
    this.#outcomes = outcomes;
  }

  /** Resolves when another binding may start. */
  place(): Promise<void> {
    return this.#limiter.place();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the scheduler is stopping'));
    await this.#limiter.idle();
  }

  start(pod: PodInfo, nodeName: string): void {
    this.#limiter.start(() => this.#bind(pod, nodeName));
  }

  observe(pod: PodInfo): void {
    this.#limiter.start(() => this.#observe(pod));
  }

  async #bind(pod: PodInfo, nodeName: string): Promise<void> {
    const { binder, recorder, log } = this.#deps;
    if (this.#stopping.signal.aborted) return;
    try {
      await binder.bind(pod, nodeName);
      this.#outcomes.onBound(pod);
      const message = `Successfully assigned ${pod.key} to ${nodeName}`;
      recorder.event(pod.pod, { type: 'Normal', reason: 'Scheduled', message });
    } catch (error) {
      log.info('a binding was not confirmed, reading the pod', { pod: pod.key, node: nodeName, error });
      await this.#observe(pod);
    }
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
