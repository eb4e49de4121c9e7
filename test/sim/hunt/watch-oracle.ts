import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Random } from '@holdfast/platform';
import { resourcePrefix } from '@holdfast/store';
import type { Oracle } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';
import type { Commit } from '../committed.ts';

/** Longer than any pause between two connections. */
const TOLD_WITHIN_MS = 12_000;
const PAUSE_MS = 3_000;
const RESTLESS_PAUSE_MS = 400;

/** How long a restless client watches before it hangs up and goes on with the next API server. */
const REST_MS = { least: 1_000, most: 9_000 };

export interface WatchOracleOptions {
  readonly resource: ResourceRef<KubeObject>;
  /** It goes on with the next of them. One alone watches until the connection breaks. */
  readonly clients: readonly ApiClient[];
  readonly isRestless?: boolean;
}

/**
 * A client that watches a kind and resumes with any API server: it must get every revision of the kind after its list
 * once and in order.
 */
export class WatchOracle implements Oracle {
  readonly name = 'a watch tells every change once, in order';
  readonly #cluster: SimCluster;
  readonly #options: WatchOracleOptions;
  readonly #prefix: string;
  readonly #random: Random;
  readonly #over = new AbortController();
  /** Revisions of the kind that the store has taken, in order. */
  readonly #committed: number[] = [];
  readonly #committedAtMs: number[] = [];
  /** The revision up to which it has been told everything. */
  #place: number | undefined;
  #next = 0;
  #story: string | undefined;

  constructor(cluster: SimCluster, options: WatchOracleOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#prefix = resourcePrefix(options.resource.group, options.resource.plural);
    this.#random = cluster.kernel.random(`watch of ${this.#prefix} ${options.isRestless === true}`);
  }

  committed({ operation, revision }: Commit): void {
    if (!operation.key.startsWith(this.#prefix)) return;
    this.#committed.push(revision);
    this.#committedAtMs.push(this.#cluster.kernel.elapsedMs);
  }

  /** It was told everything that was committed a while ago. */
  isTold(): boolean {
    const untilMs = this.#cluster.kernel.elapsedMs - TOLD_WITHIN_MS;
    const due = this.#committedAtMs.findLastIndex((atMs) => atMs <= untilMs);
    return (this.#committed[due] ?? 0) <= (this.#place ?? 0);
  }

  /** When everything is quiet: what it has not been told. */
  untold(): string | undefined {
    if (this.isTold()) return undefined;
    return `it is at revision ${this.#place ?? 'none'} long after ${this.#committed.at(-1)} was committed`;
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
    const { resource } = this.#options;
    const { signal } = this.#over;
    for (let turn = 0; !signal.aborted; turn++) {
      const connection = new AbortController();
      try {
        const client = this.#clientOf(turn);
        this.#place ??= Number((await client.list(resource)).resourceVersion);
        this.#hangUpLater(connection);
        const options = { resourceVersion: String(this.#place), allowBookmarks: false };
        const events = client.watch(resource, { ...options, signal: AbortSignal.any([signal, connection.signal]) });
        for await (const { object } of events)
          this.#place = this.#arrived(this.#place ?? 0, Number(object.metadata.resourceVersion));
      } catch (error) {
        if (error instanceof StatusError && error.code === 410) this.#place = undefined;
      }
      if (!signal.aborted) await this.#pause();
    }
  }

  #clientOf(turn: number): ApiClient {
    const { clients } = this.#options;
    return clients[turn % clients.length] ?? this.#cluster.watcher;
  }

  #hangUpLater(connection: AbortController): void {
    if (this.#options.isRestless !== true) return;
    const delayMs = REST_MS.least + this.#random.float() * (REST_MS.most - REST_MS.least);
    const fire = (): void => connection.abort(new Error('the client hangs up'));
    this.#cluster.kernel.schedule({ delayMs, label: 'hang up a watch', owner: 'watcher', fire });
  }

  #arrived(after: number, revision: number): number {
    while (this.#next > 0 && (this.#committed[this.#next - 1] ?? 0) > after) this.#next--;
    while ((this.#committed[this.#next] ?? Number.POSITIVE_INFINITY) <= after) this.#next++;
    const expected = this.#committed[this.#next];
    if (expected !== revision) {
      this.#story ??= `after revision ${after} comes ${revision}; the store has ${expected ?? 'nothing'} there`;
    }
    return revision;
  }

  #pause(): Promise<void> {
    const delayMs = this.#options.isRestless === true ? this.#random.float() * RESTLESS_PAUSE_MS : PAUSE_MS;
    return new Promise((resolve) => {
      this.#cluster.kernel.schedule({ delayMs, label: 'watch again', owner: 'watcher', fire: resolve });
    });
  }
}
