import { CONFIG_MAPS, LEASES, type Lease } from '@holdfast/api';
import type { Hold, Increment, Outcome } from '../checkers/acknowledged.ts';
import type { Asking, Scenery } from './asking.ts';

const NAMESPACE = 'default';
const CREATE_PAUSE_MS = 250;
const COUNT_PAUSE_MS = 200;
const HOLD_MS = 400;
const AGAIN_MS = 150;

export const MADE = 'made-';
const named = (name: string): { namespace: string; name: string } => ({ namespace: NAMESPACE, name });

/** Creates one object after the other, each once. */
export class Creator {
  readonly created = new Map<string, Outcome>();
  readonly #scenery: Scenery;
  readonly #asking: Asking;

  constructor(scenery: Scenery, asking: Asking) {
    this.#scenery = scenery;
    this.#asking = asking;
  }

  async run(client: number, signal: AbortSignal): Promise<void> {
    for (let count = 0; !signal.aborted; count++) {
      const name = `${MADE}${client}-${count}`;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: named(name), data: {} } as const;
      const { outcome } = await this.#asking.ask(`create ${name}`, client, (user) => user.create(CONFIG_MAPS, object));
      this.created.set(name, outcome === 'unsent' ? 'refused' : outcome);
      await this.#scenery.sleep(this.#scenery.random.float() * CREATE_PAUSE_MS);
    }
  }
}

/** Clients count one object up, each by a read and a compare-and-swap. */
export class Counter {
  readonly name: string;
  readonly increments: Increment[] = [];
  readonly #scenery: Scenery;
  readonly #asking: Asking;

  constructor(scenery: Scenery, asking: Asking, name: string) {
    this.#scenery = scenery;
    this.#asking = asking;
    this.name = name;
  }

  async run(client: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#countUp(client);
      await this.#scenery.sleep(this.#scenery.random.float() * COUNT_PAUSE_MS);
    }
  }

  async #countUp(client: number): Promise<void> {
    const target = named(this.name);
    const read = await this.#asking.ask(`get ${this.name}`, client, (user) => user.find(CONFIG_MAPS, target));
    if (read.outcome !== 'acknowledged') return;
    const object = read.value;
    const to = Number(object?.data?.['count'] ?? 0) + 1;
    const data = { count: String(to) };
    const written = await this.#asking.ask(`count ${this.name}`, client, (user) =>
      object === undefined
        ? user.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data })
        : user.update(CONFIG_MAPS, { ...object, data }),
    );
    if (written.outcome !== 'unsent') this.increments.push({ outcome: written.outcome, to });
  }
}

/** Clients take one Lease in turn, by compare-and-swap. A holder asks the API before it believes that it holds. */
export class Holders {
  readonly name: string;
  readonly holds: Hold[] = [];
  readonly #scenery: Scenery;
  readonly #asking: Asking;
  #turns = 0;

  constructor(scenery: Scenery, asking: Asking, name: string) {
    this.#scenery = scenery;
    this.#asking = asking;
    this.name = name;
  }

  async run(client: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const holder = `client-${client}-${this.#turns++}`;
      const held = await this.#take(client, holder, signal);
      if (held !== undefined) await this.#holdAndGiveBack(client, holder, held, signal);
      await this.#scenery.sleep(this.#scenery.random.float() * AGAIN_MS);
    }
  }

  async #take(client: number, holder: string, signal: AbortSignal): Promise<Lease | undefined> {
    const read = await this.#read(client);
    if (read === 'unknown' || (read?.spec.holderIdentity ?? '') !== '') return undefined;
    const spec = { ...read?.spec, holderIdentity: holder };
    const told = await this.#asking.ask(`take ${this.name}`, client, (user) =>
      read === undefined
        ? user.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: named(this.name), spec })
        : user.update(LEASES, { ...read, spec }),
    );
    if (told.outcome === 'acknowledged') return told.value;
    // It may hold without knowing it, or hold later: whoever sees its name there is told.
    return told.outcome === 'unknown' ? this.#untilKnown(client, holder, signal) : undefined;
  }

  async #holdAndGiveBack(client: number, holder: string, held: Lease, signal: AbortSignal): Promise<void> {
    const { sleep, random } = this.#scenery;
    const fromMs = this.#scenery.now();
    await sleep(random.float() * HOLD_MS);
    const token = Number(held.metadata.resourceVersion);
    this.holds.push({ holder, token, fromMs, toMs: this.#scenery.now() });
    for (let lease: Lease | undefined = held; lease !== undefined; ) {
      const free: Lease = { ...lease, spec: { ...lease.spec, holderIdentity: '' } };
      const told = await this.#asking.ask(`give ${this.name} back`, client, (user) => user.update(LEASES, free));
      if (told.outcome === 'acknowledged') return;
      lease = await this.#untilKnown(client, holder, signal);
    }
  }

  /** The Lease while this holder has it; `undefined`: it has not. */
  async #untilKnown(client: number, holder: string, signal: AbortSignal): Promise<Lease | undefined> {
    for (;;) {
      const read = await this.#read(client);
      if (read !== 'unknown') return read?.spec.holderIdentity === holder ? read : undefined;
      if (signal.aborted) return undefined;
      await this.#scenery.sleep(AGAIN_MS);
    }
  }

  async #read(client: number): Promise<Lease | undefined | 'unknown'> {
    const target = named(this.name);
    const told = await this.#asking.ask(`get ${this.name}`, client, (user) => user.find(LEASES, target));
    return told.outcome === 'acknowledged' ? told.value : 'unknown';
  }
}
