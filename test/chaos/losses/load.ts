import { CONFIG_MAPS, PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';

const NAMESPACE = 'default';
const WRITE_PAUSE_MS = 50;
const LIST_PAUSE_MS = 500;
/** Written over and over again. */
const OBJECTS = 50;

const clock = createSystemClock();

/** A client that writes ConfigMaps and lists pods all the time, and remembers what was acknowledged. */
export class ApiLoad implements AsyncDisposable {
  readonly #admin: ApiClient;
  /** The last acknowledged content by name; undefined while a write has an unknown outcome. */
  readonly #acknowledged = new Map<string, string | undefined>();
  /** Sentences about what was acknowledged and not there later. */
  readonly #gone = new Set<string>();
  readonly #running: Promise<unknown>;
  #stopped = false;
  #writes = 0;
  #refused = 0;
  #lists = 0;

  constructor(admin: ApiClient) {
    this.#admin = admin;
    this.#running = Promise.all([this.#write(), this.#list()]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Throws when an acknowledged write is not there. */
  async judge(): Promise<string> {
    const stored = await this.#admin.list(CONFIG_MAPS, { namespace: NAMESPACE });
    const contents = new Map(stored.items.map(({ metadata, data }) => [metadata.name ?? '', data?.['count']]));
    const [gone] = this.#gone;
    if (gone !== undefined) throw new Error(gone);
    for (const [name, content] of this.#acknowledged)
      if (content !== undefined && contents.get(name) !== content)
        throw new Error(`${name} has ${contents.get(name)}, and ${content} was acknowledged`);
    return `${this.#writes} writes acknowledged and kept, ${this.#refused} refused, ${this.#lists} lists`;
  }

  async #write(): Promise<void> {
    for (let count = 0; !this.#stopped; count++) {
      const name = `load-${count % OBJECTS}`;
      const before = this.#acknowledged.get(name);
      this.#acknowledged.set(name, undefined);
      await this.#writeOne(name, String(count), before).then(
        () => {
          this.#acknowledged.set(name, String(count));
          this.#writes++;
        },
        () => void this.#refused++,
      );
      await clock.sleep(WRITE_PAUSE_MS);
    }
  }

  /** `before`: what was acknowledged, so it has to be there now. */
  async #writeOne(name: string, count: string, before: string | undefined): Promise<void> {
    const target = { namespace: NAMESPACE, name };
    const data = { count };
    const found = await this.#admin.find(CONFIG_MAPS, target);
    const is = found?.data?.['count'];
    if (before !== undefined && is !== before)
      this.#gone.add(`${name} had ${is} at a time, and ${before} was acknowledged`);
    if (found !== undefined)
      return void (await this.#admin.patch(CONFIG_MAPS, target, { type: 'merge', body: { data } }));
    await this.#admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data });
  }

  async #list(): Promise<void> {
    while (!this.#stopped) {
      await this.#admin.list(PODS, { namespace: NAMESPACE }).then(
        () => void this.#lists++,
        () => {},
      );
      await clock.sleep(LIST_PAUSE_MS);
    }
  }
}
