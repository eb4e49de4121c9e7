import { CONFIG_MAPS } from '@holdfast/api';
import { resourcePrefix } from '@holdfast/store';
import type { ClientKind } from '../../scenario/clients.ts';
import type { Commit, CommittedState } from '../../sim/committed.ts';
import { brokenCounter, brokenCreates, brokenHolds, hangingRequests, type Silence } from '../checkers/acknowledged.ts';
import { judgeRegisters, type RegisterOperation } from '../checkers/registers.ts';
import { brokenWatches, type Written } from '../checkers/watches.ts';
import { Asking, type Request, type Scenery } from './asking.ts';
import { Counter, Creator, Holders, MADE } from './plain-clients.ts';
import { RegisterClients } from './register-clients.ts';
import { Watcher } from './watchers.ts';

/** Clients of each object that several of them change, in turn through all API servers. */
const RIVALS = 4;
const HEARD_WITHIN_MS = 20_000;
const SHOWN = 3;

/** What is committed, as the store says. */
export interface Truth {
  readonly commits: readonly Commit[];
  readonly state: CommittedState;
}

/** The clients of a scenario, and the checkers that judge what they were told. */
export class Clients {
  readonly #scenery: Scenery;
  readonly #asking: Asking;
  readonly #over = new AbortController();
  readonly #registers: readonly RegisterClients[];
  readonly #creators: readonly Creator[];
  readonly #counters: readonly Counter[];
  readonly #leases: readonly Holders[];
  readonly #watchers: readonly Watcher[];
  readonly #running: Promise<unknown>;
  readonly #watching: Promise<unknown>;

  constructor(scenery: Scenery, counts: Readonly<Record<ClientKind, number>>) {
    this.#scenery = scenery;
    this.#asking = new Asking(scenery);
    const asking = this.#asking;
    const several = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
    this.#registers = [
      { registers: counts.registers, isRare: false },
      { registers: counts.rareRegisters, isRare: true },
    ].flatMap((of) => (of.registers === 0 ? [] : [new RegisterClients(scenery, asking, of)]));
    this.#creators = several(counts.creates, () => new Creator(scenery, asking));
    this.#counters = several(counts.counters, (i) => new Counter(scenery, asking, `counter-${i}`));
    this.#leases = several(counts.leases, (i) => new Holders(scenery, asking, `lease-${i}`));
    this.#watchers = several(counts.watchers, (i) => new Watcher(scenery, i));
    const { signal } = this.#over;
    const rivals = (each: { run(client: number, signal: AbortSignal): Promise<void> }): Promise<void>[] =>
      several(RIVALS, (client) => each.run(client, signal));
    this.#running = Promise.all([
      ...this.#creators.map((each, client) => each.run(client, signal)),
      ...[...this.#registers, ...this.#counters, ...this.#leases].flatMap(rivals),
    ]);
    this.#watching = Promise.all(this.#watchers.map((each, client) => each.run(client)));
  }

  get requests(): readonly Request[] {
    return this.#asking.requests;
  }

  /** Nobody asks any more; watches go on. */
  async stop(): Promise<void> {
    this.#over.abort(new Error('the run is over'));
    await this.#running;
  }

  /** After `stop`: watches hear of the last changes, and hang up. `truth`: all that was committed until now. */
  async finish(truth: Truth): Promise<void> {
    await Promise.all(
      this.#watchers.map((each) => each.finish(this.#written(each, truth).at(-1)?.revision ?? 0, HEARD_WITHIN_MS)),
    );
    await this.#watching;
  }

  /** Sentences about what must not be. `silences`: when API servers could not answer. */
  broken(truth: Truth, silences: readonly Silence[] = []): readonly string[] {
    const maps = truth.state.list(CONFIG_MAPS);
    const names = maps.flatMap(({ metadata: { name = '' } }) => (name.startsWith(MADE) ? [name] : []));
    const created = new Map(this.#creators.flatMap((each) => [...each.created]));
    const countOf = (counter: string): number =>
      Number(maps.find(({ metadata }) => metadata.name === counter)?.data?.['count'] ?? 0);
    const { broken, undecided } = judgeRegisters(this.#histories());
    return [
      ...broken,
      ...undecided.map(
        (register) => `nobody knows whether the history of ${register} is right: the search took too long`,
      ),
      ...brokenCreates(created, new Set(names)).slice(0, SHOWN),
      ...this.#counters.flatMap(({ name, increments }) =>
        brokenCounter(increments, countOf(name)).map((story) => `${name}: ${story}`),
      ),
      ...this.#leases.flatMap(({ name, holds }) =>
        brokenHolds(holds)
          .slice(0, SHOWN)
          .map((story) => `${name}: ${story}`),
      ),
      ...this.#watchers.flatMap((each) => brokenWatches(each.stretches, this.#written(each, truth)).slice(0, 1)),
      ...hangingRequests(this.requests, this.#scenery.now(), silences).slice(0, SHOWN),
    ];
  }

  /** Kinds with a client that was never told that something happened: there is nothing to judge. */
  unheard(): readonly string[] {
    const heard: Readonly<Record<string, readonly boolean[]>> = {
      registers: this.#registers.map(({ histories }) => [...histories.values()].some(({ length }) => length > 0)),
      creates: this.#creators.map(({ created }) => [...created.values()].includes('acknowledged')),
      counters: this.#counters.map(({ increments }) => increments.some(({ outcome }) => outcome === 'acknowledged')),
      leases: this.#leases.map(({ holds }) => holds.length > 0),
      watchers: this.#watchers.map(({ stretches }) => stretches.some(({ events }) => events.length > 0)),
    };
    return Object.entries(heard).flatMap(([kind, each]) =>
      each.every(Boolean) ? [] : [`one of the clients (${kind}) was never told that something happened`],
    );
  }

  /** What the checkers had to judge, so that nothing is right because there was nothing. */
  facts(): string {
    const { operations } = judgeRegisters(this.#histories());
    const count = (of: readonly { readonly length: number }[]): number =>
      of.reduce((sum, { length }) => sum + length, 0);
    const events = count(this.#watchers.flatMap((each) => each.stretches.map((stretch) => stretch.events)));
    return [
      `${operations} operations on registers`,
      `${this.#creators.reduce((sum, { created }) => sum + created.size, 0)} creations`,
      `${count(this.#counters.map(({ increments }) => increments))} increments`,
      `${count(this.#leases.map(({ holds }) => holds))} holds of leases`,
      `${events} events of watches`,
    ].join(', ');
  }

  #histories(): ReadonlyMap<string, readonly RegisterOperation[]> {
    return new Map(this.#registers.flatMap(({ histories }) => [...histories]));
  }

  #written({ resource }: Watcher, { commits }: Truth): readonly Written[] {
    const prefix = resourcePrefix(resource.group, resource.plural);
    return commits.flatMap(({ operation, revision }) =>
      operation.key.startsWith(prefix) ? [{ revision, kind: operation.kind }] : [],
    );
  }
}
