import { CONFIG_MAPS, type KubeObject, PODS, type ResourceRef } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import type { Stretch, Told } from '../checkers/watches.ts';
import type { Scenery } from './asking.ts';

const AGAIN_MS = 300;
/** How long a client watches before it hangs up and goes on with the next API server. */
const REST_MS = { least: 1_000, most: 9_000 };
const QUIET_MS = 200;

interface Connection extends Stretch {
  readonly events: Told[];
  upTo?: number;
}

/** A client that watches a kind, hangs up, and goes on where it was with the next API server. */
export class Watcher {
  readonly resource: ResourceRef<KubeObject>;
  readonly stretches: Connection[] = [];
  readonly #scenery: Scenery;
  readonly #over = new AbortController();
  #isFinishing = false;

  constructor(scenery: Scenery, number: number) {
    this.#scenery = scenery;
    this.resource = number % 2 === 0 ? CONFIG_MAPS : PODS;
  }

  async run(client: number): Promise<void> {
    const { users, sleep } = this.#scenery;
    let place: number | undefined;
    for (let turn = client; !this.#over.signal.aborted; turn++) {
      const user = users[turn % users.length];
      try {
        place ??= Number((await user?.list(this.resource, { signal: this.#over.signal }))?.resourceVersion);
        const stretch: Connection = {
          client: `watcher-${client} of ${this.resource.plural}`,
          after: place,
          events: [],
        };
        this.stretches.push(stretch);
        const hungUp = new AbortController();
        void this.#hangUpLater(hungUp);
        const signal = AbortSignal.any([this.#over.signal, hungUp.signal]);
        const options = { resourceVersion: String(place), allowBookmarks: false, signal };
        for await (const { type, object } of user?.watch(this.resource, options) ?? []) {
          place = Number(object.metadata.resourceVersion);
          stretch.events.push({ revision: place, type });
        }
      } catch (error) {
        if (error instanceof StatusError && error.code === 410) place = undefined;
      }
      if (!this.#over.signal.aborted) await sleep(AGAIN_MS);
    }
  }

  /** Watches until it has heard of `revision`, or does not within `ms`, and hangs up for good. */
  async finish(revision: number, ms: number): Promise<void> {
    const { now, sleep } = this.#scenery;
    this.#isFinishing = true;
    const until = now() + ms;
    while (now() < until && this.#heard() < revision) await sleep(QUIET_MS);
    const last = this.stretches.at(-1);
    if (last !== undefined) last.upTo = revision;
    this.#over.abort(new Error('the run is over'));
  }

  #heard(): number {
    const last = this.stretches.at(-1);
    return last?.events.at(-1)?.revision ?? last?.after ?? 0;
  }

  async #hangUpLater(connection: AbortController): Promise<void> {
    const { random, sleep } = this.#scenery;
    await sleep(REST_MS.least + random.float() * (REST_MS.most - REST_MS.least));
    if (!this.#isFinishing) connection.abort(new Error('the client hangs up'));
  }
}
