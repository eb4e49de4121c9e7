import type { Oracle, SimulationKernel } from './kernel.ts';

/** A process of a container started or ended. The simulated machines report it, never the API. */
export interface ProcessFact {
  readonly kind: 'started' | 'ended';
  readonly node: string;
  readonly namespace: string;
  readonly podName: string;
  readonly podUid: string;
  readonly container: string;
}

interface Running {
  readonly node: string;
  readonly podUid: string;
  readonly sinceMs: number;
  processes: number;
  isGivenUp: boolean;
}

/**
 * At most one pod per identity has living processes, anywhere, at any time. The machines report the facts, so the
 * oracle sees what a partition hides from the API.
 */
export class AtMostOneOracle implements Oracle {
  readonly name = 'at-most-one per identity';
  readonly #kernel: SimulationKernel;
  readonly #guarded: (namespace: string, podName: string) => boolean;
  readonly #running = new Map<string, Running[]>();
  #story: string | undefined;
  #startCount = 0;

  /** `guarded` returns true for pod names that are identities (StatefulSet pods). */
  constructor(kernel: SimulationKernel, guarded: (namespace: string, podName: string) => boolean) {
    this.#kernel = kernel;
    this.#guarded = guarded;
  }

  /** Guarded processes seen so far. A run without any proves nothing. */
  get startCount(): number {
    return this.#startCount;
  }

  /** The nodes on which the identity has processes now. */
  nodesOf(namespace: string, podName: string): readonly string[] {
    return (this.#running.get(`${namespace}/${podName}`) ?? []).map((pod) => pod.node);
  }

  /** A user gave up the current lives of the identity (force deletion, deletion of their node): one more may begin. */
  release(namespace: string, podName: string): void {
    for (const pod of this.#running.get(`${namespace}/${podName}`) ?? []) pod.isGivenUp = true;
  }

  observe(fact: ProcessFact): void {
    this.#kernel.record(
      `${fact.kind} ${fact.namespace}/${fact.podName} ${fact.podUid} ${fact.container} on ${fact.node}`,
    );
    if (!this.#guarded(fact.namespace, fact.podName)) return;
    if (fact.kind === 'started') this.#started(fact);
    else this.#ended(fact);
  }

  check(): string | undefined {
    return this.#story;
  }

  #started(fact: ProcessFact): void {
    this.#startCount++;
    const identity = `${fact.namespace}/${fact.podName}`;
    const pods = this.#running.get(identity) ?? [];
    this.#running.set(identity, pods);
    const own = pods.find((pod) => pod.podUid === fact.podUid && pod.node === fact.node);
    if (own !== undefined) own.processes++;
    else
      pods.push({
        node: fact.node,
        podUid: fact.podUid,
        sinceMs: this.#kernel.elapsedMs,
        processes: 1,
        isGivenUp: false,
      });
    const guarded = pods.filter((pod) => !pod.isGivenUp);
    if (guarded.length > 1) {
      const lives = guarded.map((pod) => `uid ${pod.podUid} on ${pod.node} since ${(pod.sinceMs / 1000).toFixed(1)} s`);
      this.#story = `${identity} runs ${guarded.length} times: ${lives.join(', ')}`;
    }
  }

  #ended(fact: ProcessFact): void {
    const identity = `${fact.namespace}/${fact.podName}`;
    const pods = this.#running.get(identity) ?? [];
    const own = pods.find((pod) => pod.podUid === fact.podUid && pod.node === fact.node);
    if (own === undefined) return;
    own.processes--;
    if (own.processes === 0) pods.splice(pods.indexOf(own), 1);
  }
}
