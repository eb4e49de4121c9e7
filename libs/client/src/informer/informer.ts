import type { KubeObject, ResourceRef } from '@holdfast/api';
import { type Bus, type BusMessage, HEARTBEAT_SUBJECT, resourcePattern, type Subscription } from '@holdfast/bus';
import { StatusError } from '@holdfast/machinery';
import { type Clock, InvariantViolation, type Log, type Random, type Timer } from '@holdfast/platform';
import { type Backoff, createBackoff } from '../backoff.ts';
import { decodeObject, revisionOf } from '../decode.ts';
import { type HadSeen, hadSeenBy } from '../had-seen.ts';
import {
  BUS_HEARTBEAT_TIMEOUT_MS,
  LIST_PAGE_OBJECTS,
  RECONNECT_BACKOFF_BASE_MS,
  RECONNECT_BACKOFF_MAX_MS,
  SAFETY_CHECK_INTERVAL_MS,
  TOMBSTONES_MAX,
  WATCH_DEBT_IDLE_MS,
  WATCH_IDLE_MS,
  WATCH_LINGER_MS,
  WATCH_SUCCESS_MS,
} from '../limits.ts';
import type { ApiClient, Informer, InformerChange, KubeList, ListSelection, Target, TypedWatchEvent } from '../port.ts';
import { NOTHING_SEEN, SEEN_ANNOTATION } from '../seen.ts';
import { TransportError } from '../transport/port.ts';
import { BusProgress } from './bus-progress.ts';
import { decodeChange, decodeHeartbeat } from './decode-message.ts';
import { type Applied, type IndexFunction, keyOf, ObjectCache } from './object-cache.ts';
import { SeenHistory } from './seen-history.ts';
import { compileSelection } from './selection.ts';

export interface InformerOptions<T extends KubeObject> {
  readonly client: ApiClient;
  /** Without a bus the informer lists and watches. */
  readonly bus?: Bus | undefined;
  readonly resource: ResourceRef<T>;
  readonly selection?: ListSelection;
  /** Subject patterns that cover every change of the selection. Default: every object of the resource. */
  readonly subjects?: readonly string[];
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  readonly clock: Clock;
  /** Adds jitter to retries; without it the waits are exact. */
  readonly random?: Random | undefined;
  readonly log: Log;
  readonly safetyCheckIntervalMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly watchIdleMs?: number;
  /** A copy of more objects is not kept: it stays as it was, and is tried again. For servers that nobody here has written. */
  readonly objectsMax?: number;
  /** The same of their characters as JSON. */
  readonly charsMax?: number;
}

/**
 * Lists, then follows. While the bus is trusted its messages keep the copy current. Whenever they may be incomplete
 * (start, gap, interruption, silence, a periodic check), a watch of the API replays everything since the last complete
 * revision, and ends when it has caught up with the bus. Without a bus the watch stays open. When the history is
 * compacted, it lists again.
 */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  return new FollowingInformer(options);
}

/** The server has not reached a revision that this copy has seen: it lags, or its data went back. */
const isTooLarge = (error: unknown): boolean =>
  error instanceof StatusError &&
  error.code === 504 &&
  error.body.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') === true;

const keyOfTarget = ({ namespace, name }: Target): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

// One for all: a cluster has dozens of informers, and each error notes where it was made.
const NOT_NEEDED = new TransportError('the watch is not needed any more');
const STOPPED = new TransportError('the informer was stopped');

interface Debt {
  readonly revision: number;
  readonly bookmark: boolean;
  readonly deep: boolean;
}

class FollowingInformer<T extends KubeObject> implements Informer<T> {
  readonly name: string;
  readonly #options: InformerOptions<T>;
  readonly #subjects: readonly string[];
  readonly #selects: (object: KubeObject) => boolean;
  readonly #cache: ObjectCache<T>;
  readonly #progress: BusProgress;
  readonly #seen = new SeenHistory();
  readonly #hadSeen: HadSeen;
  readonly #listeners = new Set<(change: InformerChange<T>) => void>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #stopping = new AbortController();
  #loops: readonly Promise<void>[] = [];
  #subscription: Subscription | undefined;
  #listed = false;
  /** The size of the copy; counted only when `charsMax` is set. */
  #chars = 0;
  /** The server is behind this copy. The next list replaces the copy, whatever its revisions are. */
  #isAhead = false;
  #heartbeatAt: number | undefined;
  /**
   * What the copy must still read from the API: up to a revision that the bus named, or up to the server's current
   * revision, or both.
   */
  #owed: Debt = { revision: 0, bookmark: true, deep: false };
  /** The time since which changes named by the bus are missing. */
  #owedAt = 0;
  /**
   * The copy is complete up to this revision by the API alone. The periodic check replays from here. So it also finds
   * losses of the bus that heartbeats did not show, since they cannot name every channel.
   */
  #verified = 0;
  #checkAt = 0;
  #wake: (() => void) | undefined;
  /** Number of changes that the bus named without their content (Secrets, ConfigMaps). */
  #unseen = 0;
  #unseenPaid = 0;
  #endLingering: (() => void) | undefined;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#hadSeen = hadSeenBy(options.client);
    this.name = `informer of ${options.resource.plural}`;
    this.#subjects = options.subjects ?? resourcePattern(options.resource.group, options.resource.plural);
    this.#selects = compileSelection(options.selection ?? {});
    this.#cache = new ObjectCache(options.indexes ?? {});
    this.#progress = new BusProgress(this.#subjects);
    this.#synced.promise.catch(() => {});
  }

  async start(): Promise<void> {
    if (this.#loops.length > 0) return;
    this.#loops = [this.#follow()];
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(STOPPED);
    this.#wake?.();
    this.#synced.reject(STOPPED);
    await Promise.all(this.#loops);
    await this.#subscription?.close();
  }

  synced(): Promise<void> {
    return this.#synced.promise;
  }

  get(target: Target): T | undefined {
    return this.#cache.get(keyOfTarget(target));
  }

  count(namespace?: string): number {
    return this.#cache.count(namespace);
  }

  list(namespace?: string): readonly T[] {
    return this.#cache.list(namespace);
  }

  byIndex(index: string, value: string): readonly T[] {
    const found = this.#cache.byIndex(index, value);
    if (found === undefined) {
      throw new InvariantViolation('an index is declared before it is asked', { index, informer: this.name });
    }
    return found;
  }

  onChange(listener: (change: InformerChange<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  revision(): number {
    return this.#progress.floor();
  }

  reflects(target: Target, revision: number): boolean {
    return this.#progress.floor() >= revision || this.#cache.revisionOf(keyOfTarget(target)) >= revision;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    const backoff = this.#backoff();
    while (!signal.aborted) {
      try {
        if (!this.#listed) {
          await this.#relist();
          await this.#beginSubscription();
        }
        await this.#catchUp(backoff);
        await this.#untilOwed();
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, backoff);
      }
    }
  }

  /** Once. A bus that loses nothing answers at once, and makes the first watch unnecessary. */
  async #beginSubscription(): Promise<void> {
    const { bus } = this.#options;
    if (bus === undefined || this.#loops.length > 1) return;
    const subscribing = this.#subscribe(bus);
    this.#loops = [...this.#loops, subscribing];
    if (bus.losesNothing === true) await subscribing;
  }

  async #recover(error: unknown, backoff: Backoff): Promise<void> {
    if (error instanceof StatusError && error.code === 410) {
      this.#listed = false;
      this.#options.log.info('history is gone, listing again', { informer: this.name });
    } else if (isTooLarge(error)) {
      this.#listed = false;
      this.#isAhead = true;
      this.#options.log.warn('the server is behind this copy, listing again', { informer: this.name });
    } else {
      // One warning per outage: later attempts fail for the same reason.
      const level = backoff.failures() === 0 ? 'warn' : 'debug';
      this.#options.log[level]('the API did not serve the informer, trying again', { informer: this.name, error });
    }
    await backoff.wait(this.#stopping.signal).catch(() => {});
  }

  async #relist(): Promise<void> {
    let revision = 0;
    let seen: string | undefined;
    let continueToken: string | undefined;
    const items: T[] = [];
    let chars = 0;
    do {
      const page = continueToken === undefined ? await this.#firstPage() : await this.#page({ continueToken });
      this.#stopping.signal.throwIfAborted();
      if (revision === 0) {
        revision = Number(page.resourceVersion);
        if (Number.isNaN(revision)) throw new TransportError('the resource versions of the server are not numbers');
        seen = page.seen;
      }
      items.push(...page.items);
      chars += this.#charsOf(page.items);
      this.#refuseTooMany(items.length, chars);
      continueToken = page.continueToken;
      // Without this a server that nobody here has written can keep the informer asking, without a pause.
      if (continueToken !== undefined && page.items.length === 0)
        throw new TransportError('a page of the list is empty');
    } while (continueToken !== undefined);
    if (this.#isAhead || this.#seen.isOver(seen)) this.#beginHistory();
    this.#seen.note(seen, revision);
    this.#hadSeen.note(this.#options.resource, revision);
    const mayBeAbsent = this.#cache.size() > 0;
    const listed = new Set<string>();
    for (const item of items) {
      const key = keyOf(item);
      if (mayBeAbsent) listed.add(key);
      this.#publish(this.#cache.upsert(key, item, revisionOf(item)));
    }
    if (mayBeAbsent) for (const change of this.#cache.removeAbsent(listed, revision)) this.#publish(change);
    this.#complete(revision, true);
    this.#listed = true;
    this.#synced.resolve();
  }

  #refuseTooMany(objects: number, chars: number): void {
    const { objectsMax = Number.POSITIVE_INFINITY, charsMax = Number.POSITIVE_INFINITY } = this.#options;
    if (objects <= objectsMax && chars <= charsMax) return;
    this.#listed = false;
    throw new TransportError(
      objects > objectsMax
        ? `there are more than ${objectsMax} objects`
        : `the objects have more than ${charsMax} characters`,
    );
  }

  #charsOf(objects: readonly (T | undefined)[]): number {
    if (this.#options.charsMax === undefined) return 0;
    return objects.reduce((sum, object) => sum + (object === undefined ? 0 : JSON.stringify(object).length), 0);
  }

  /** A server that does not know our history reports that. Then the informer starts from the beginning. */
  async #firstPage(): Promise<KubeList<T>> {
    try {
      return await this.#page({ seen: this.#seen.token });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 410)) throw error;
      return this.#page({ seen: NOTHING_SEEN });
    }
  }

  #page(place: { readonly continueToken?: string; readonly seen?: string }): Promise<KubeList<T>> {
    const { client, resource, selection = {} } = this.#options;
    return client.list(resource, {
      ...selection,
      limit: LIST_PAGE_OBJECTS,
      signal: this.#stopping.signal,
      ...place,
    });
  }

  /** The copy belongs to another history, so its revisions cannot be compared with new ones. */
  #beginHistory(): void {
    this.#options.log.warn('the server has a different history, replacing the cached copy', { informer: this.name });
    this.#isAhead = false;
    this.#cache.forgetRevisions();
    this.#progress.restart();
    this.#verified = 0;
    this.#owed = { revision: 0, bookmark: true, deep: false };
  }

  /**
   * Watches from the last complete revision until nothing is missing. Reopens the watch whenever the server ends it.
   */
  async #catchUp(backoff: Backoff): Promise<void> {
    while (this.#listed && this.#owesApi()) {
      const startedAt = this.#options.clock.monotonic();
      const lingered = await this.#watchOnce();
      this.#stopping.signal.throwIfAborted();
      const servedMs = this.#options.clock.monotonic() - startedAt;
      if (lingered || servedMs >= WATCH_SUCCESS_MS || !this.#owesApi()) backoff.reset();
      else await backoff.wait(this.#stopping.signal);
    }
  }

  /** Resolves with true when the watch caught up before it ended. */
  async #watchOnce(): Promise<boolean> {
    // The signal calls back only for an abort that comes later.
    this.#stopping.signal.throwIfAborted();
    const { client, resource, selection = {} } = this.#options;
    const ending = new AbortController();
    const { signal } = ending;
    // Not AbortSignal.any: Node keeps such a signal, and all that listens to it, until it is aborted.
    const stop = (): void => ending.abort(this.#stopping.signal.reason);
    this.#stopping.signal.addEventListener('abort', stop);
    const idle = this.#idleTimer(() => {
      this.#options.log.warn('a watch fell silent, opening another', { informer: this.name });
      ending.abort(new TransportError(`the watch of the ${this.name} fell silent`));
    });
    const lingering = this.#linger(() => ending.abort(NOT_NEEDED));
    const from = this.#owed.deep ? this.#verified : this.#progress.floor();
    const verifies = from <= this.#verified;
    try {
      for await (const event of client.watch(resource, {
        ...selection,
        resourceVersion: String(from),
        seen: this.#seen.token,
        signal,
        allowBookmarks: true,
      })) {
        idle.restart();
        this.#applyWatchEvent(event, verifies);
        if (!this.#listed || (!this.#owesApi() && !lingering.stays())) break;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#stopping.signal.removeEventListener('abort', stop);
      idle.cancel();
      lingering.cancel();
      ending.abort(NOT_NEEDED);
    }
    return lingering.began();
  }

  #applyWatchEvent(event: TypedWatchEvent<T>, verifies: boolean): void {
    const revision = revisionOf(event.object);
    this.#hadSeen.note(this.#options.resource, revision);
    if (event.type === 'DELETED') this.#publish(this.#cache.remove(keyOf(event.object), revision));
    else if (event.type !== 'BOOKMARK') this.#publish(this.#cache.upsert(keyOf(event.object), event.object, revision));
    this.#complete(revision, verifies);
    this.#refuseTooMany(this.#cache.count(undefined), this.#chars);
    if (event.type !== 'BOOKMARK') return;
    this.#seen.note(event.object.metadata.annotations?.[SEEN_ANNOTATION], revision);
    this.#owed = { ...this.#owed, bookmark: false, deep: this.#owed.deep && !verifies };
  }

  #owesApi(): boolean {
    return !this.#busIsTrusted() || this.#owed.bookmark || this.#owed.deep || this.#owesChanges();
  }

  /** True when changes that the bus named have not arrived yet. */
  #owesChanges(): boolean {
    return this.#owed.revision > this.#progress.floor();
  }

  #busIsTrusted(): boolean {
    const { clock, heartbeatTimeoutMs = BUS_HEARTBEAT_TIMEOUT_MS } = this.#options;
    if (this.#subscription === undefined || this.#heartbeatAt === undefined) return false;
    return clock.monotonic() - this.#heartbeatAt < heartbeatTimeoutMs;
  }

  /** Waits while the bus works: until something is missing, heartbeats stop, or the next safety check is due. */
  async #untilOwed(): Promise<void> {
    const { clock, heartbeatTimeoutMs } = this.#options;
    while (this.#listed && !this.#owesApi() && !this.#stopping.signal.aborted) {
      const silentAt = (this.#heartbeatAt ?? 0) + (heartbeatTimeoutMs ?? BUS_HEARTBEAT_TIMEOUT_MS);
      await this.#sleepUntilWoken(Math.min(this.#checkAt, silentAt) - clock.monotonic());
      if (clock.monotonic() >= this.#checkAt) this.#owe({ deep: true });
    }
  }

  async #sleepUntilWoken(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.clock.timer(delayMs, resolve);
    this.#wake = resolve;
    await promise;
    this.#wake = undefined;
    timer.cancel();
  }

  #owe(debt: Partial<Debt>): void {
    if (!this.#owesChanges()) this.#owedAt = this.#options.clock.monotonic();
    this.#owed = {
      revision: Math.max(this.#owed.revision, debt.revision ?? 0),
      bookmark: this.#owed.bookmark || debt.bookmark === true,
      deep: this.#owed.deep || debt.deep === true,
    };
    this.#wake?.();
    // Only a new watch gets a bookmark or starts at an earlier revision.
    if (debt.bookmark === true || debt.deep === true) this.#endLingering?.();
  }

  async #subscribe(bus: Bus): Promise<void> {
    const { signal } = this.#stopping;
    const backoff = this.#backoff();
    while (!signal.aborted) {
      let isWhole = bus.losesNothing === true;
      try {
        const subscription = await bus.subscribe([...this.#subjects, HEARTBEAT_SUBJECT], {
          after: this.#progress.floor(),
          onMessage: (message) => this.#receive(message),
          onInterruption: () => {
            isWhole = false;
            this.#owe({ bookmark: true });
          },
        });
        this.#subscription = subscription;
        if (isWhole) this.#trustFromTheList();
        else this.#owe({ bookmark: true });
        return;
      } catch (error) {
        this.#options.log.warn('the bus refused the subscription, trying again', { informer: this.name, error });
        await backoff.wait(signal).catch(() => {});
      }
    }
  }

  /** Every change after the list was or will be delivered; heartbeats have to come from now on. */
  #trustFromTheList(): void {
    this.#heartbeatAt = this.#options.clock.monotonic();
    this.#owed = { ...this.#owed, bookmark: false };
  }

  #receive(message: BusMessage): void {
    if (this.#stopping.signal.aborted) return;
    try {
      if (message.subject === HEARTBEAT_SUBJECT) this.#receiveHeartbeat(message);
      else this.#receiveChange(message);
    } catch (error) {
      this.#options.log.error('a bus message cannot be used, reading from the API', { informer: this.name, error });
      this.#owe({ revision: message.revision });
    }
  }

  #receiveHeartbeat(message: BusMessage): void {
    const heartbeat = decodeHeartbeat(message.data);
    if (this.#seen.isOver(heartbeat.seen)) {
      this.#listed = false;
      this.#wake?.();
      return;
    }
    this.#heartbeatAt = this.#options.clock.monotonic();
    if (this.#seen.isBehind(heartbeat.rev)) this.#owe({ bookmark: true });
    const finding = this.#progress.observeHeartbeat(heartbeat);
    if (finding === 'lost') this.#owe({ bookmark: true });
    else if (finding === 'current' && !this.#owesApi()) this.#progress.completeTo(heartbeat.rev);
    if (this.#progress.floor() >= heartbeat.rev) this.#seen.note(heartbeat.seen, heartbeat.rev);
  }

  #receiveChange(message: BusMessage): void {
    const continuity = this.#progress.observe(message);
    if (continuity === 'seen') return;
    if (continuity === 'gap') this.#owe({ revision: message.revision });
    const { resource } = this.#options;
    const change = message.shared ?? decodeChange(resource, message);
    if (change.movedTo !== undefined && this.#progress.takes(change.movedTo)) return;
    if (change.hasObject || change.type === 'DELETED') this.#hadSeen.note(resource, message.revision);
    if (!change.hasObject) {
      this.#unseen++;
      this.#owe({ revision: message.revision });
    } else if (change.type === 'DELETED') this.#publish(this.#cache.remove(change.key, message.revision));
    else this.#take(change.key, decodeObject(resource, change.object()), message.revision);
    if (this.#cache.deletions() > TOMBSTONES_MAX) this.#owe({ deep: true });
  }

  #take(key: string, object: T, revision: number): void {
    this.#publish(
      this.#selects(object) ? this.#cache.upsert(key, object, revision) : this.#cache.remove(key, revision),
    );
  }

  #complete(revision: number, verified: boolean): void {
    this.#progress.completeTo(revision);
    if (!verified) return;
    const { clock, safetyCheckIntervalMs = SAFETY_CHECK_INTERVAL_MS } = this.#options;
    this.#checkAt = clock.monotonic() + safetyCheckIntervalMs;
    this.#verified = Math.max(this.#verified, revision);
    this.#cache.forgetDeletionsUpTo(this.#verified);
  }

  #publish(change: Applied<T>): void {
    if (change === undefined) return;
    this.#chars += this.#charsOf([change.object]) - this.#charsOf([change.old]);
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#options.log.error('a listener failed', { informer: this.name, key: change.key, error });
      }
    }
  }

  #backoff(): Backoff {
    const { clock, random } = this.#options;
    return createBackoff({ clock, random, baseMs: RECONNECT_BACKOFF_BASE_MS, maxMs: RECONNECT_BACKOFF_MAX_MS });
  }

  /**
   * A watch that fetched changes without content on the bus stays open while more of them arrive: one watch per burst,
   * not one per change. It ends after a period without a selected change.
   */
  #linger(end: () => void): { stays(): boolean; began(): boolean; cancel(): void } {
    const { clock } = this.#options;
    const atOpening = this.#unseenPaid;
    let timer: Timer | undefined;
    const arm = (): void => {
      const complete = this.#progress.floor();
      timer = clock.timer(WATCH_LINGER_MS, () => {
        if (this.#progress.floor() === complete) end();
        else arm();
      });
    };
    return {
      stays: () => {
        if (this.#unseen === atOpening) return false;
        if (timer === undefined) arm();
        this.#endLingering = end;
        return true;
      },
      began: () => timer !== undefined,
      cancel: () => {
        timer?.cancel();
        this.#endLingering = undefined;
        this.#unseenPaid = this.#unseen;
      },
    };
  }

  /**
   * A healthy watch delivers changes that the bus named immediately. A watch that delivers none of them while the bus
   * continues is half-open, so this does not wait for the next bookmark.
   */
  #idleTimer(onIdle: () => void): { restart(): void; cancel(): void } {
    const { clock, watchIdleMs = WATCH_IDLE_MS } = this.#options;
    let lastAt = clock.monotonic();
    const debtIdleMs = Math.min(watchIdleMs, WATCH_DEBT_IDLE_MS);
    const leftMs = (): number => {
      const isDue = this.#busIsTrusted() && this.#owesChanges();
      const silentAt = isDue ? Math.max(lastAt, this.#owedAt) + debtIdleMs : lastAt + watchIdleMs;
      return silentAt - clock.monotonic();
    };
    const arm = (): Timer =>
      clock.timer(Math.min(leftMs(), debtIdleMs), () => {
        if (leftMs() > 0) timer = arm();
        else onIdle();
      });
    let timer = arm();
    return {
      restart: () => {
        lastAt = clock.monotonic();
      },
      cancel: () => timer.cancel(),
    };
  }
}
