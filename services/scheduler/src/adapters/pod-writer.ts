import { PODS, type Pod, type PodCondition, podCondition } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, formatTime, type Log } from '@holdfast/platform';
import type { PodInfo } from '../domain/pod-info.ts';
import { STATUS_WRITES_IN_FLIGHT_MAX } from '../limits.ts';
import { createLimiter, type Limiter } from './limiter.ts';

export interface PodWriterDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Why {
  /** `SchedulerError` is a failure, not a property of the cluster. */
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
}

/**
 * Writes the reason for a pending pod into its status. Nothing depends on it: the next attempt of the pod repeats a
 * failed write.
 */
export class PodWriter {
  readonly #deps: PodWriterDeps;
  readonly #limiter: Limiter = createLimiter(STATUS_WRITES_IN_FLIGHT_MAX);

  constructor(deps: PodWriterDeps) {
    this.#deps = deps;
  }

  /** Resolves when all writes have ended. */
  idle(): Promise<void> {
    return this.#limiter.idle();
  }

  /** `nominatedNodeName`: `null` clears it, `undefined` keeps it. */
  notScheduled(pod: PodInfo, why: Why, nominatedNodeName: string | null | undefined): void {
    const condition = conditionFor(pod.pod, why, this.#deps.clock.now());
    if (condition === undefined && nominatedNodeName === undefined) return;
    this.#write(pod, {
      ...(condition === undefined ? {} : { conditions: [condition] }),
      ...(nominatedNodeName === undefined ? {} : { nominatedNodeName }),
    });
  }

  nominate(pod: PodInfo, nominatedNodeName: string | null): void {
    this.#write(pod, { nominatedNodeName });
  }

  #write({ key, namespace, name, uid }: PodInfo, status: Readonly<Record<string, unknown>>): void {
    const body = { metadata: { uid }, status };
    this.#limiter.start(async () => {
      try {
        await this.#deps.client.patch(PODS, { namespace, name }, { type: 'strategic', body, subresource: 'status' });
      } catch (error) {
        if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
        this.#deps.log.warn('the status of a waiting pod was not written', { pod: key, error });
      }
    });
  }
}

/** Returns `undefined` when the pod's status is up to date. */
function conditionFor(pod: Pod, { reason, message }: Why, nowMs: number): PodCondition | undefined {
  const known = podCondition(pod, 'PodScheduled');
  if (known?.status === 'False' && known.reason === reason && known.message === message) return undefined;
  const since = known?.status === 'False' ? known.lastTransitionTime : undefined;
  return {
    type: 'PodScheduled',
    status: 'False',
    reason,
    message,
    lastProbeTime: null,
    lastTransitionTime: since ?? formatTime(nowMs),
  };
}
