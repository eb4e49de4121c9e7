import {
  isExclusive,
  isTerminating,
  isUnique,
  LEASES,
  NODE_LEASES_NAMESPACE,
  PODS,
  type Pod,
  promiseOf,
  type SelfFencingPolicy,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { isApiAway } from '../domain/api-away.ts';
import { isStatic } from '../domain/static-pod.ts';
import type { FencingClass } from '../runtime/fencing-deadline.ts';
import { type PromiseKeeper, PromiseWait } from './promise-keeper.ts';

export const fencingClassOf = (pod: Pod): FencingClass =>
  isStatic(pod) ? 'never' : isExclusive(pod) ? 'exclusive' : 'other';

export interface ExclusiveStartsDeps {
  readonly client: ApiClient;
  readonly nodeName: string;
  /** Absent: the node promises nothing, and this machine knows of no promise of an earlier kubelet. */
  readonly keeper?: PromiseKeeper | undefined;
  readonly policy?: SelfFencingPolicy | undefined;
}

/** Asks before anything of an exclusive pod is mounted, started or started again. */
export class ExclusiveStarts {
  readonly #deps: ExclusiveStartsDeps;
  /** The API has said that the lease has no promise. Only this kubelet could make the next one. */
  #isFree = false;

  constructor(deps: ExclusiveStartsDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves to the deadline before which a process of the pod has to start; undefined: any time. The deadline is read before the pod is:
   * who releases the pod later has waited for it. Throws `PromiseWait`.
   *
   * A restart without a promise (of the node, or for this pod) does not wait for an API that is away: without the word of this kubelet only a
   * person or a fence releases the pod there. An API that answers is believed.
   */
  async confirm(pod: Pod, isRestart: boolean): Promise<number | undefined> {
    const { client, keeper, policy } = this.#deps;
    const fencing = fencingClassOf(pod);
    const isCovered = fencing === 'exclusive' || (fencing === 'other' && policy === 'all');
    if (fencing === 'never' || !(isCovered || isUnique(pod))) return undefined;
    // An earlier promise of this node may cover more than this kubelet does.
    if (keeper === undefined) await this.#waitForFreeLease();
    const startBefore = isCovered ? keeper?.startBefore() : undefined;
    const mayTrustItself = keeper === undefined || !isCovered;
    const { namespace = '', name = '', uid } = pod.metadata;
    const current = await client.find(PODS, { namespace, name }).catch((error: unknown) => {
      if (mayTrustItself && isRestart && isApiAway(error)) return pod;
      throw new PromiseWait('waiting until the API confirms the pod', { cause: error });
    });
    if (current !== undefined && current.metadata.uid === uid && !isTerminating(current)) return startBefore;
    throw new PromiseWait('the pod is to run no more');
  }

  /**
   * A machine whose state directory was wiped has forgotten the promise of an earlier kubelet. While the lease still has
   * it, the control plane may break it and release a pod that starts now. The renewal of the lease takes it back.
   */
  async #waitForFreeLease(): Promise<void> {
    if (this.#isFree) return;
    const { client, nodeName: name } = this.#deps;
    const lease = await client.find(LEASES, { namespace: NODE_LEASES_NAMESPACE, name }).catch((error: unknown) => {
      throw new PromiseWait('waiting until the API says whether this node has promised anything', { cause: error });
    });
    if (promiseOf(lease) !== undefined)
      throw new PromiseWait('waiting until the promise of an earlier kubelet of this node is taken back');
    this.#isFree = true;
  }
}
