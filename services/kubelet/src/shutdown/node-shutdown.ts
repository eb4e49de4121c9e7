import type { Pod } from '@holdfast/api';
import { type Clock, describeError, type Log } from '@holdfast/platform';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { planShutdown, type ShutdownGroup, type ShutdownPeriod } from './plan.ts';

export interface NodeShutdownDeps {
  /** None: pods run on when the kubelet stops. */
  readonly periods: readonly ShutdownPeriod[];
  readonly pods: () => readonly Pod[];
  /** Resolves when nothing of the pod runs and its object has the reason. */
  readonly end: (uid: string, failure: PodFailure) => Promise<void>;
  readonly onBegin: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';

/** Ends every pod of the node before the machine goes down, the least important first. */
export class NodeShutdown {
  readonly #deps: NodeShutdownDeps;
  #running: Promise<void> | undefined;

  constructor(deps: NodeShutdownDeps) {
    this.#deps = deps;
  }

  hasBegun(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves after the last group ended, or had its time. */
  async run(): Promise<void> {
    if (this.#deps.periods.length === 0) return;
    this.#running ??= this.#endAll();
    await this.#running;
  }

  /** Why a pod is not taken any more. */
  refusal(): PodFailure | undefined {
    if (!this.hasBegun()) return undefined;
    const message = 'Pod was rejected as the node is shutting down.';
    return { reason: 'NodeShutdown', message: `Pod was rejected: ${message}`, event: { type: 'Warning', message } };
  }

  async #endAll(): Promise<void> {
    const { pods, periods, onBegin, log } = this.#deps;
    // From now on callers must see that it has begun.
    await Promise.resolve();
    log.info('the node is shutting down, its pods are ended');
    onBegin();
    for (const group of planShutdown(pods(), periods)) await this.#endGroup(group);
  }

  async #endGroup({ seconds, pods }: ShutdownGroup): Promise<void> {
    const { clock, end, log } = this.#deps;
    const limit = new AbortController();
    const tooLong = clock.sleep(seconds * 1000, limit.signal).catch(() => undefined);
    const ends = pods.map(async ({ pod, graceSeconds }) => {
      await end(pod.metadata.uid ?? '', { reason: 'Terminated', message: MESSAGE, graceSeconds, disruption: MESSAGE });
    });
    const all = Promise.all(ends).catch((error: unknown) => {
      log.warn('a pod was not ended before the shutdown', { error: describeError(error) });
    });
    await Promise.race([all, tooLong]);
    limit.abort(new Error('the group has ended'));
  }
}
