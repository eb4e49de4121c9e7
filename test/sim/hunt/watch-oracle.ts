import { PODS } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import type { Oracle } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';

const PAUSE_MS = 3_000;

/**
 * A client that watches pods and resumes with any API server: it must get every revision of a pod after its list once
 * and in order.
 */
export class WatchOracle implements Oracle {
  readonly name = 'a watch tells every change once, in order';
  readonly #cluster: SimCluster;
  readonly #over = new AbortController();
  /** Revisions of pods that the store has taken, in order. */
  readonly #committed: number[] = [];
  #story: string | undefined;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  /** Called for every commit of a pod. */
  committed(revision: number): void {
    this.#committed.push(revision);
  }

  start(): void {
    this.#cluster.background(this.#follow());
  }

  stop(): void {
    this.#over.abort(new Error('the run is over'));
  }

  check(): string | undefined {
    return this.#story;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#over;
    let place: number | undefined;
    while (!signal.aborted) {
      try {
        place ??= Number((await this.#cluster.watcher.list(PODS)).resourceVersion);
        const resourceVersion = String(place);
        const events = this.#cluster.watcher.watch(PODS, { resourceVersion, signal, allowBookmarks: false });
        for await (const { object } of events) place = this.#arrived(place, Number(object.metadata.resourceVersion));
      } catch (error) {
        if (error instanceof StatusError && error.code === 410) place = undefined;
      }
      if (!signal.aborted) await this.#pause();
    }
  }

  #arrived(after: number, revision: number): number {
    const expected = this.#committed.find((each) => each > after);
    if (expected !== revision) {
      this.#story ??= `after revision ${after} comes ${revision}; the store has ${expected ?? 'nothing'} there`;
    }
    return revision;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#cluster.kernel.schedule({ delayMs: PAUSE_MS, label: 'watch again', owner: 'watcher', fire: resolve });
    });
  }
}
