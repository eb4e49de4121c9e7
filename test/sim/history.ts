import assert from 'node:assert/strict';
import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { SimCluster } from './cluster.ts';

interface Line {
  readonly revision: number;
  readonly text: string;
}

/** The commits in the order of the store, whatever the order in which they were observed. */
export class History {
  readonly #cluster: SimCluster;
  readonly #lines: Line[] = [];
  readonly #over = new AbortController();

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  /** Records the result of `say` for every later change of a kind. */
  follow<T extends KubeObject>(resource: ResourceRef<T>, say: (object: T, isGone: boolean) => string): void {
    const { admin } = this.#cluster;
    const { signal } = this.#over;
    const read = async (): Promise<void> => {
      const { resourceVersion } = await admin.list(resource);
      for await (const { type, object } of admin.watch(resource, { resourceVersion, signal, allowBookmarks: true })) {
        if (type !== 'BOOKMARK') this.#note(Number(object.metadata.resourceVersion), say(object, type === 'DELETED'));
      }
    };
    this.#cluster.background(
      read().catch((error: unknown) => {
        if (!signal.aborted) throw error;
      }),
    );
  }

  stop(): void {
    this.#over.abort(new Error('the run is over'));
  }

  /** Asserts that all of them happened in this order, each for the first time. */
  assertOrder(first: string, ...then: readonly string[]): void {
    const start = this.#firstAfter(0, first);
    const revisions = [start, ...then.map((text) => this.#firstAfter(start, text))];
    assert.ok(
      revisions.every((revision, i) => revision < Number.POSITIVE_INFINITY && revision > (revisions[i - 1] ?? 0)),
      `${[first, ...then].join(' < ')} in ${JSON.stringify(this.#lines)}`,
    );
  }

  #firstAfter(start: number, text: string): number {
    const revisions = this.#lines.filter((line) => line.text === text).map(({ revision }) => revision);
    return Math.min(...revisions.filter((revision) => revision > start));
  }

  #note(revision: number, text: string): void {
    if (text !== '' && this.#lines.at(-1)?.text !== text) this.#lines.push({ revision, text });
  }
}
