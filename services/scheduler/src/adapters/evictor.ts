import { PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, formatTime, type Log } from '@holdfast/platform';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Candidate } from '../domain/preemption.ts';
import type { Profile } from '../framework/profile.ts';
import { STATUS_WRITES_IN_FLIGHT_MAX } from '../limits.ts';
import type { Recorders } from '../recorders.ts';
import { createLimiter, type Limiter } from './limiter.ts';

export interface EvictorDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorders: Pick<Recorders, 'of'>;
}

/**
 * Requests the graceful deletion of preempted pods, with their own grace period and a uid precondition; it never does
 * more. A victim whose request failed is found again on the next attempt of the pod.
 */
export class Evictor {
  readonly #deps: EvictorDeps;
  readonly #limiter: Limiter = createLimiter(STATUS_WRITES_IN_FLIGHT_MAX);

  constructor(deps: EvictorDeps) {
    this.#deps = deps;
  }

  idle(): Promise<void> {
    return this.#limiter.idle();
  }

  evict(pod: PodInfo, { nodeName, victims }: Candidate, profile: Profile): void {
    for (const victim of victims) {
      if (!victim.terminating) this.#limiter.start(() => this.#end(victim, { pod, nodeName, profile }));
    }
  }

  async #end(
    victim: PodInfo,
    { pod, nodeName, profile }: { readonly pod: PodInfo; readonly nodeName: string; readonly profile: Profile },
  ): Promise<void> {
    const { client, log, recorders } = this.#deps;
    const target = { namespace: victim.namespace, name: victim.name };
    try {
      await client.patch(PODS, target, {
        type: 'strategic',
        body: this.#reasonFor(victim, profile),
        subresource: 'status',
      });
      await client.delete(PODS, target, { uid: victim.uid });
      const message = `Preempted by pod ${pod.uid} on node ${nodeName}`;
      const event = { type: 'Normal', reason: 'Preempted', action: 'Preempting', message, related: pod.pod } as const;
      recorders.of(profile.schedulerName).event(victim.pod, event);
    } catch (error) {
      if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
      log.warn('a preempted pod could not be deleted', { pod: victim.key, for: pod.key, error });
    }
  }

  #reasonFor(victim: PodInfo, { schedulerName }: Profile): unknown {
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: `${schedulerName}: preempting to accommodate a higher priority pod`,
      lastTransitionTime: formatTime(this.#deps.clock.now()),
    };
    return { metadata: { uid: victim.uid }, status: { conditions: [condition] } };
  }
}
