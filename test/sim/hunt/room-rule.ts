import { type Pod, podRequests } from '@holdfast/api';
import { milliValue, parseQuantity } from '@holdfast/machinery';
import { parseKey } from '@holdfast/store';
import type { Oracle, ProcessFact } from '@holdfast/testing';
import { type Commit, objectOf } from '../committed.ts';

/** What every node of a hunt has, in thousandths of a processor. */
export const NODE_MILLI_CPU = 32_000;

interface Share {
  readonly node: string;
  readonly milliCpu: number;
}

/**
 * The pods that run on a node ask for no more than it has. A pod whose object is gone is left out: what a user has
 * removed by force may live on beside the next one.
 */
export class RoomRule implements Oracle {
  readonly name = 'a node runs no more than it has';
  readonly #asked = new Map<string, number>();
  readonly #running = new Map<string, Share>();
  #story: string | undefined;

  committed(commit: Commit): void {
    const { key, kind } = commit.operation;
    if (parseKey(key).resource !== 'pods') return;
    const pod = objectOf(commit) as Pod;
    const uid = pod.metadata.uid ?? '';
    const { cpu } = podRequests(pod);
    if (kind === 'delete' || cpu === undefined) this.#asked.delete(uid);
    else this.#asked.set(uid, milliValue(parseQuantity(cpu)));
  }

  observe({ kind, node, podUid, podName }: ProcessFact): void {
    if (kind === 'ended') {
      this.#running.delete(podUid);
      return;
    }
    const milliCpu = this.#asked.get(podUid);
    if (milliCpu === undefined) return;
    this.#running.set(podUid, { node, milliCpu });
    const shares = [...this.#running].filter(([uid, share]) => share.node === node && this.#asked.has(uid));
    const sum = shares.reduce((total, [, share]) => total + share.milliCpu, 0);
    if (sum > NODE_MILLI_CPU)
      this.#story ??= `${podName} (${podUid}) starts on ${node}, whose pods ask for ${sum / 1000} processors of ${NODE_MILLI_CPU / 1000}`;
  }

  check(): string | undefined {
    return this.#story;
  }
}
