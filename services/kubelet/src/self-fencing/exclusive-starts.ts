import { isExclusive, isTerminating, PODS, type Pod, type SelfFencingPolicy } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { isStatic } from '../domain/static-pod.ts';
import type { FencingClass } from '../runtime/fencing-deadline.ts';
import { type PromiseKeeper, PromiseWait } from './promise-keeper.ts';

export const fencingClassOf = (pod: Pod): FencingClass =>
  isStatic(pod) ? 'never' : isExclusive(pod) ? 'exclusive' : 'other';

export interface ExclusiveStartsDeps {
  readonly client: ApiClient;
  /** Absent: the node promises nothing, and has no promise of an earlier kubelet to take back. */
  readonly keeper?: PromiseKeeper | undefined;
  readonly policy?: SelfFencingPolicy | undefined;
}

/** Asks before anything of an exclusive pod is mounted, started or started again. */
export class ExclusiveStarts {
  readonly #deps: ExclusiveStartsDeps;

  constructor(deps: ExclusiveStartsDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves to the deadline before which a process of the pod has to start; undefined: any time. The deadline is read before the pod is:
   * who releases the pod later has waited for it. Throws `PromiseWait`.
   *
   * A restart on a node without a promise needs no API: nobody releases the pod there before this kubelet has confirmed its end.
   */
  async confirm(pod: Pod, isRestart: boolean): Promise<number | undefined> {
    const { client, keeper, policy } = this.#deps;
    const fencing = fencingClassOf(pod);
    if (fencing === 'never' || (fencing === 'other' && policy !== 'all')) return undefined;
    if (keeper === undefined && isRestart) return undefined;
    const startBefore = keeper?.startBefore();
    const { namespace = '', name = '', uid } = pod.metadata;
    const current = await client.find(PODS, { namespace, name }).catch((error: unknown) => {
      throw new PromiseWait('waiting until the API confirms the pod', { cause: error });
    });
    if (current !== undefined && current.metadata.uid === uid && !isTerminating(current)) return startBefore;
    throw new PromiseWait('the pod is to run no more');
  }
}
