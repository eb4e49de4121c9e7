import { createSeededRandom, createSystemClock, describeError } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { type Change, type DurableStore, StoreUnavailable } from '@holdfast/store';
import { changesUpTo, checkHistory } from '@holdfast/store/contract';
import { RegisterClients } from './clients.ts';
import { FAULTS, type Fault, type FaultName } from './faults.ts';
import type { Slice } from './report.ts';
import { ZONES, Zones, type ZonesOptions } from './zones.ts';

const CLIENTS = 9;
/** A fault ends when it has lasted so long and so many more writes have been acknowledged. */
const LASTS_MS = 4_000;
const WRITES_DURING = 40;

export interface CampaignOptions extends ZonesOptions {
  readonly kind: FaultName;
  readonly times: number;
  /** Faults on one log, whose history is then judged as a whole. */
  readonly perSlice?: number;
  readonly seed: number;
  readonly onSlice: (slice: Slice) => void;
}

/** Plays a fault again and again under load, and judges every history. */
export async function runCampaign({
  kind,
  times,
  perSlice = 10,
  seed,
  onSlice,
  ...options
}: CampaignOptions): Promise<void> {
  const { needsDisks: forgetful = false }: Fault = FAULTS[kind];
  await using zones = await Zones.start({ ...options, forgetful });
  const random = createSeededRandom(seed, kind);
  for (let done = 0; done < times; ) {
    const count = Math.min(perSlice, times - done);
    const slice = await runSlice(zones, { kind, count, random });
    done += count;
    onSlice(slice);
    if (slice.broken.length > 0) return;
  }
}

async function runSlice(
  zones: Zones,
  { kind, count, random }: { kind: FaultName; count: number; random: ReturnType<typeof createSeededRandom> },
): Promise<Slice> {
  await zones.begin();
  const watchers = zones.stores.map((store) => new Watcher(store));
  const clients = new RegisterClients(() => zones.stores, CLIENTS);
  const unavailableMs: number[] = [];
  const broken: string[] = [];
  const more = async (writes: number): Promise<void> => {
    const goal = clients.acknowledged + writes;
    await eventually(() => clients.acknowledged >= goal, 'writes are acknowledged');
  };
  const hold = async (): Promise<void> => {
    await Promise.all([more(WRITES_DURING), createSystemClock().sleep(LASTS_MS)]);
  };
  try {
    await more(WRITES_DURING);
    for (let i = 0; i < count; i++) {
      const leader = await zones.whole();
      clients.takeLongestMs();
      await FAULTS[kind].play(zones, { leader, random }, hold);
      await more(WRITES_DURING);
      unavailableMs.push(clients.takeLongestMs());
    }
    await zones.whole();
  } catch (error) {
    broken.push(describeError(error));
    zones.heal();
  }
  await clients.end().catch((error: unknown) => broken.push(describeError(error)));
  broken.push(...(await judge(zones, clients, watchers)));
  await zones.end();
  const { acknowledged, unknown, events } = clients;
  return { kind, unavailableMs, acknowledged, unknown, operations: events.length, broken };
}

/** Every store and one that starts now have the same history; it explains all answers; watches were told it. */
async function judge(zones: Zones, clients: RegisterClients, watchers: readonly Watcher[]): Promise<readonly string[]> {
  try {
    const late = await zones.open(ZONES[0]);
    try {
      const revision = await late.currentRevision();
      const history = await changesUpTo(late, 0, revision);
      checkHistory(clients.events, history);
      const views = await Promise.all(zones.stores.map((store) => changesUpTo(store, 0, revision)));
      const whole = namesOf(history);
      await Promise.all(watchers.map((watcher) => watcher.reach(revision)));
      return [
        ...views.flatMap((view, zone) => (namesOf(view) === whole ? [] : [`zone ${zone} has another history`])),
        ...watchers.flatMap(({ seen }, zone) =>
          namesOf(seen.slice(0, revision)) === namesOf(history.slice(0, seen.length))
            ? []
            : [`a watch in zone ${zone} was told something else`],
        ),
        ...zones.stores.flatMap((store) => store.haltedBy() ?? []),
      ];
    } finally {
      await late.close();
    }
  } catch (error) {
    return [describeError(error)];
  }
}

const namesOf = (changes: readonly Change[]): string =>
  changes.map(({ revision, kind, key, value }) => `${revision} ${kind} ${key} ${value}`).join('\n');

/** A watch that is opened once, and has to be told every change, once and in order, until its store ends. */
export class Watcher {
  readonly seen: Change[] = [];
  readonly #abort = new AbortController();
  #hasEnded = false;
  /** Why it ended, unless its store was closed. */
  #failure: Error | undefined;

  constructor(store: Pick<DurableStore, 'changes'>) {
    void this.#run(store);
  }

  async reach(revision: number): Promise<void> {
    await eventually(() => this.#hasEnded || (this.seen.at(-1)?.revision ?? 0) >= revision, 'the watch is told');
    this.#abort.abort();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #run(store: Pick<DurableStore, 'changes'>): Promise<void> {
    try {
      for await (const batch of store.changes({ after: 0, signal: this.#abort.signal })) this.seen.push(...batch);
    } catch (error) {
      this.#hasEnded = true;
      if (!(error instanceof StoreUnavailable) && !this.#abort.signal.aborted)
        this.#failure = new Error('a watch ended', { cause: error });
    }
  }
}
