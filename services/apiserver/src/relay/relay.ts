import {
  type Bus,
  type BusMessage,
  BusUnavailable,
  HEARTBEAT_SUBJECT,
  type Heartbeat,
  OutOfPlace,
} from '@holdfast/bus';
import { type Clock, describeError, type Log, type Service, type Timer } from '@holdfast/platform';
import type { Change, Revision, Store } from '@holdfast/store';
import { tokenOf } from '../lineage/token.ts';
import { type ChannelTails, createChannelTails } from './channel-tails.ts';
import { type Composer, createComposer } from './composer.ts';
import { createStateReader, type KnownState } from './describe.ts';
import { HEARTBEAT_INTERVAL_MS, RETRY_FIRST_MS, RETRY_LONGEST_MS, STANDBY_LOOK_MS } from './limits.ts';
import { stretchesOf } from './stretches.ts';

export interface RelayDeps {
  readonly store: Pick<Store, 'changes' | 'currentRevision' | 'compactedRevision' | 'lineage' | 'haltedBy'>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** Spares subscribers in this process what the apiserver has read, or written, already. */
  readonly knownState?: KnownState;
}

export interface Relay extends Service {
  /** Every change up to here is on the bus. */
  revision(): Revision;
  /** Empty while changes flow; else what keeps them. */
  health(): readonly string[];
}

/**
 * Publishes every committed change, in order. Each apiserver runs one over the same store; the bus takes a
 * revision only right after the one before it, so whoever is first publishes it and the others learn that they are
 * behind and stand by until the first one stops moving. Nothing depends on there being only one: a change that is
 * published twice, late, or (after a loss of the bus's data) again, is dropped or healed by its consumers.
 */
export function createRelay(deps: RelayDeps): Relay {
  return new ChangeRelay(deps);
}

/** The bus is behind a published change: it lost its tail. */
class Rewind extends Error {}

class ChangeRelay implements Relay {
  readonly name = 'relay';
  readonly #deps: RelayDeps;
  readonly #tails: ChannelTails = createChannelTails();
  readonly #composer: Composer;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #heartbeat: Timer | undefined;
  /** Composed up to here; the message of the next change links to it. */
  #walked: Revision = 0;
  /** The write id of the last composed change. */
  #walkedWriteId: string | undefined;
  /** The bus has every change up to here. */
  #published: Revision = 0;
  /** No change above this was omitted. */
  #since: Revision = 0;
  #standby = false;
  /**
   * The last change was accepted when sent alone: so far there is no other publisher, and several may be sent together.
   */
  #leading = false;
  #trouble: string | undefined;

  constructor(deps: RelayDeps) {
    this.#deps = deps;
    this.#composer = createComposer(createStateReader(deps.knownState), this.#tails);
  }

  /** Resolves once the start position is known, so that no later change is missed, or is known to be unavailable. */
  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    this.#running = this.#walk(await this.#findPlace().catch((error: unknown) => this.#noteTrouble(error)));
    this.#scheduleHeartbeat();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#heartbeat?.cancel();
    await this.#running;
  }

  revision(): Revision {
    return this.#published;
  }

  health(): readonly string[] {
    return [...(this.#trouble === undefined ? [] : [this.#trouble]), ...this.#deps.bus.health()];
  }

  async #walk(first: Revision | undefined): Promise<void> {
    let place = first;
    let retryMs = RETRY_FIRST_MS;
    while (!this.#stopping.signal.aborted) {
      const before = this.#published;
      try {
        place ??= await this.#findPlace();
        await this.#follow(place);
      } catch (error) {
        if (!(error instanceof Rewind)) this.#noteTrouble(error);
      }
      place = undefined;
      retryMs = this.#published > before ? RETRY_FIRST_MS : Math.min(retryMs * 2, RETRY_LONGEST_MS);
      await this.#pause(retryMs);
    }
  }

  /** Returns the position of the bus, after making it one from which the store's history can continue. */
  async #findPlace(): Promise<Revision> {
    const { store, bus } = this.#deps;
    // In this order: another relay may publish in between, and that must not look like lost data in the store.
    const position = await bus.retained?.position();
    const current = await store.currentRevision();
    // A bus that keeps nothing has lost what no relay was there to publish.
    if (position === undefined) return this.#goOnFrom(current, current);
    if (position.last > current) {
      throw new Error(`the bus holds revision ${position.last}, the store only ${current}: the store lost data`);
    }
    if (position.last > 0 && position.last >= (await store.compactedRevision())) {
      return this.#goOnFrom(position.last, position.floor);
    }
    await bus.retained?.restartAfter(current);
    return this.#goOnFrom(current, current);
  }

  #goOnFrom(place: Revision, since: Revision): Revision {
    this.#published = place;
    this.#since = since;
    return place;
  }

  async #follow(place: Revision): Promise<void> {
    if (place !== this.#walked) {
      this.#composer.restartAfter(place);
      this.#walkedWriteId = undefined;
    }
    this.#walked = place;
    this.#trouble = undefined;
    const { signal } = this.#stopping;
    const { changesAtOnce = 1, publishNow } = this.#deps.bus;
    for await (const changes of this.#deps.store.changes({ after: place, signal })) {
      if (signal.aborted) return;
      if (publishNow !== undefined) this.#publishNow(changes);
      else await this.#publishStretches(stretchesOf(changes, changesAtOnce));
    }
  }

  /** A synchronous bus has no position: there are no races. */
  #publishNow(changes: readonly Change[]): void {
    this.#deps.bus.publishNow?.(this.#compose(changes));
    this.#published = this.#walked;
  }

  async #publishStretches(stretches: Iterable<readonly Change[]>): Promise<void> {
    for (const stretch of stretches) {
      if (this.#stopping.signal.aborted) return;
      await this.#publishAll(this.#compose(stretch));
    }
  }

  #compose(changes: readonly Change[]): readonly BusMessage[] {
    const at = { nowMs: this.#deps.clock.monotonic(), published: this.#published };
    const messages = changes.map((change) => this.#composer.compose(change, at));
    const last = changes.at(-1);
    this.#walked = last?.revision ?? this.#walked;
    this.#walkedWriteId = last?.writeId;
    return messages;
  }

  /** Together while that goes well; from the first that was not taken on, one at a time, which finds out why. */
  async #publishAll(messages: readonly BusMessage[]): Promise<void> {
    for (let at = 0; at < messages.length; ) {
      const rest = messages.slice(at);
      if (this.#leading && rest.length > 1) at += await this.#publishTogether(rest);
      const next = messages[at];
      if (next === undefined || this.#stopping.signal.aborted) return;
      await this.#ensurePublished(next);
      at += 1;
    }
  }

  /**
   * Answers how many of them the bus is known to have. It takes each only right behind the one before, so if it took the last it has
   * all before it, whoever published those: two apiservers that begin at the same moment may take turns once.
   */
  async #publishTogether(messages: readonly BusMessage[]): Promise<number> {
    const taken = await this.#takenOf(messages);
    this.#published = Math.max(this.#published, messages[taken - 1]?.revision ?? 0);
    return taken;
  }

  async #takenOf(messages: readonly BusMessage[]): Promise<number> {
    try {
      await this.#deps.bus.publish(messages);
      return messages.length;
    } catch (error) {
      this.#leading = false;
      if (!(error instanceof OutOfPlace)) return 0;
      return 1 + messages.findLastIndex(({ revision }) => revision <= error.last);
    }
  }

  async #ensurePublished(message: BusMessage): Promise<void> {
    const { revision } = message;
    if (revision <= this.#published) return;
    if (this.#standby && (await this.#othersPublish(revision))) return;
    let retryMs = RETRY_FIRST_MS;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#deps.bus.publish([message]);
        this.#published = revision;
        this.#leading = true;
        this.#trouble = undefined;
        return;
      } catch (error) {
        if (error instanceof OutOfPlace) return this.#acceptPlace(revision, error.last);
        if (!(error instanceof BusUnavailable)) throw error;
        this.#noteTrouble(error);
      }
      await this.#pause(retryMs);
      retryMs = Math.min(retryMs * 2, RETRY_LONGEST_MS);
    }
  }

  /** Also after our own attempt whose acknowledgement was lost: a short standby does no harm then. */
  #acceptPlace(revision: Revision, last: Revision): void {
    this.#leading = false;
    if (last < revision) throw new Rewind();
    this.#standby = true;
    this.#published = last;
    this.#trouble = undefined;
  }

  /** Resolves with false when the bus did not move for a while: then this relay publishes. */
  async #othersPublish(revision: Revision): Promise<boolean> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const before = this.#published;
      await this.#pause(STANDBY_LOOK_MS);
      const position = await this.#deps.bus.retained?.position();
      this.#published = Math.max(before, position?.last ?? before);
      if (this.#published >= revision) return true;
      if (this.#published === before) break;
    }
    this.#standby = false;
    return signal.aborted;
  }

  #scheduleHeartbeat(): void {
    this.#heartbeat = this.#deps.clock.timer(HEARTBEAT_INTERVAL_MS, () => {
      void this.#beat().finally(() => {
        if (!this.#stopping.signal.aborted) this.#scheduleHeartbeat();
      });
    });
  }

  async #beat(): Promise<void> {
    const { store, bus, clock, log } = this.#deps;
    // This server cannot vouch for anything.
    if (store.haltedBy() !== undefined) return;
    try {
      // Changes that other relays published ahead of this walk are not in its tails, so it cannot vouch for them.
      const rev = Math.min(this.#published, this.#walked);
      const floor = (await bus.retained?.position())?.floor ?? rev;
      const { tails, quiet, crowded } = this.#tails.recent(clock.monotonic(), rev);
      const heartbeat: Heartbeat = {
        rev,
        floor,
        since: this.#since,
        tails,
        quiet,
        ...(crowded ? { crowded } : {}),
        seen: this.#seenAt(rev),
      };
      const data = JSON.stringify(heartbeat);
      await bus.publish([{ subject: HEARTBEAT_SUBJECT, revision: rev, previous: undefined, data }]);
    } catch (error) {
      log.debug('heartbeat was not published', { error });
    }
  }

  #seenAt(rev: Revision): string {
    return tokenOf(this.#deps.store.lineage(), rev, rev === this.#walked ? this.#walkedWriteId : undefined);
  }

  #noteTrouble(error: unknown): undefined {
    const trouble = `changes are not published: ${describeError(error)}`;
    if (trouble !== this.#trouble) this.#deps.log.warn('changes are not published', { error });
    this.#trouble = trouble;
  }

  /** Ends early, without error, when the relay stops. */
  async #pause(delayMs: number): Promise<void> {
    const { signal } = this.#stopping;
    await this.#deps.clock.sleep(delayMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
