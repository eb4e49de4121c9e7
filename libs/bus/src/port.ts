/**
 * The bus carries every committed change to whoever cares. It only wakes and informs: messages may be lost, doubled,
 * delayed and reordered without harm. Consumers detect gaps by the chain below and heal from the
 * API. Backends (local, nats) pass the same contract tests (`@holdfast/bus/contract`).
 */
export interface Bus {
  /**
   * One heartbeat, or a stretch: changes of successive revisions, at most `changesAtOnce`. Resolves when all of them were handed to
   * the transport (nats: the stream has them). Each is taken only right behind the revision before it, so what follows one that was
   * not taken is refused. Rejects with `OutOfPlace` when the transport holds another position than a message needs: it has those up
   * to that position. With `BusUnavailable` when it cannot be reached: it may have any number of them, without a hole.
   */
  publish(messages: readonly BusMessage[]): Promise<void>;
  /** How many changes one `publish` may take; absent = one. */
  readonly changesAtOnce?: number;
  /** Present where messages are taken, or refused, at once: the same as `publish` without a promise, for any number of them. */
  readonly publishNow?: (messages: readonly BusMessage[]) => void;
  /**
   * Delivers messages whose subject matches any of `patterns` (`*` = one token, a trailing `>` = one or more) and whose
   * revision is above `after`, as far back as the bus still has them. Handlers run one at a time in arrival order, maybe
   * before the returned promise resolves. Give all patterns of one cache in ONE subscription: only within a subscription
   * is there an order between channels (a pod's change on its node never comes before its change as a pending pod).
   */
  subscribe(patterns: string | readonly string[], options: SubscribeOptions): Promise<Subscription>;
  /** Empty when connected; else sentences on what is wrong. */
  health(): readonly string[];
  close(): Promise<void>;
  /** What the transport keeps for replay; absent when it keeps nothing. Publishers of changes need it, consumers don't. */
  readonly retained?: Retained;
}

export interface SubscribeOptions {
  /** Skip messages at or below this revision. Heartbeats are not changes: they are always delivered, and never replayed. */
  readonly after?: number;
  readonly onMessage: (message: BusMessage) => void;
  /**
   * The transport knows that messages above `after`, or since, may have been lost (trimmed, reconnected, restarted): heal
   * from the API. The subscription goes on by itself; nobody needs to subscribe again.
   */
  readonly onInterruption?: () => void;
}

export interface Subscription {
  /** No handler runs after it resolved. */
  close(): Promise<void>;
}

export interface BusMessage {
  readonly subject: string;
  /** Of the change; for a heartbeat the same number as `Heartbeat.rev`. There is one message per revision. */
  readonly revision: number;
  /**
   * No message of the same channel (see `channelOf` in subjects.ts) lies between this revision and `revision`: it is that of
   * the message before, or, from a publisher that just took over, the place where it took over. A consumer that is complete
   * only to a lower revision has a gap. `undefined`: nothing is known.
   */
  readonly previous: number | undefined;
  /** JSON text of a `ChangeEvent`, or of a `Heartbeat` on `HEARTBEAT_SUBJECT`. A publisher may compose it when it is asked for. */
  readonly data: string;
  /** `data` without the object, for a wire that cannot carry so much. Who takes it reads the object from the API. */
  readonly brief?: string;
  /** About how many characters `data` has, known without composing it. */
  readonly size?: number;
  /** What `data` says, for consumers in the publisher's process. What was on a wire has none. */
  readonly shared?: SharedChange;
  /**
   * Set by publishers when this change moved the object away from another subject (a pod was bound). Every backend shows
   * it to the subscribers of that subject as a message of its own with the same revision, after this message if they get
   * both. Never set on a delivered message.
   */
  readonly departure?: Departure;
}

/** What the subscribers of the subject an object left are told. */
export interface Departure {
  readonly subject: string;
  /** As in `BusMessage`, on the channel of the subject that was left. */
  readonly previous: number | undefined;
  /** JSON text of a `ChangeEvent` of type DELETED with `movedTo`. */
  readonly data: string;
  readonly shared?: SharedChange;
}

/** A `ChangeEvent` that nobody has to read from text. */
export interface SharedChange {
  readonly type: ChangeEvent['type'];
  /** `namespace/name`, or `name` for cluster-scoped objects: not the store's. One text for all who look it up. */
  readonly key: string;
  /** False where `ChangeEvent.object` is absent: `object` answers undefined then. */
  readonly hasObject: boolean;
  readonly movedTo: string | undefined;
  /** Deep-frozen, and the same for everybody who asks: whoever does not need it does not ask. */
  object(): unknown;
}

/** What a change message says. */
export interface ChangeEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** Store key. */
  readonly key: string;
  /** The object with its `metadata.resourceVersion`; absent for kinds whose content must not be on the bus (Secrets). */
  readonly object?: unknown;
  /**
   * Only with DELETED: the object is not gone, it left this channel for that subject at this revision. A consumer that
   * takes both channels has the new state already at the same revision and drops this as not newer.
   */
  readonly movedTo?: string;
}

/** Says how far the publisher is, so that a consumer of a quiet channel knows whether it missed the last message. */
export interface Heartbeat {
  /** Every change up to here was published. */
  readonly rev: number;
  /** Changes above this can still be replayed. */
  readonly floor: number;
  /** No change above this was left out by any publisher. A consumer that was complete only to an earlier one has a hole. */
  readonly since: number;
  /**
   * Last revision of the channels that changed lately. A heartbeat may overtake changes that
   * are still on their way: only a channel that is behind in two heartbeats in a row has lost something.
   */
  readonly tails: Readonly<Record<string, number>>;
  /** The channels that are not named have had no change above this: who was complete up to here misses nothing of them. */
  readonly quiet: number;
  /** For a client that is complete up to `rev`: what it has seen, see `docs/internals/apiserver.md`, "Lineage". */
  readonly seen?: string;
  /** More channels changed lately than are named, so being below `quiet` proves nothing wrong. */
  readonly crowded?: boolean;
}

export interface Retained {
  /** `last`: highest revision published ever (0 = none); every change in (floor, last] can be replayed. */
  position(): Promise<{ readonly floor: number; readonly last: number }>;
  /** Drops what is kept; the next change may have any revision above `revision`. Consumers below it are interrupted. */
  restartAfter(revision: number): Promise<void>;
}

/** The transport's last revision is `last`, so the message is either published already or would leave a hole. */
export class OutOfPlace extends Error {
  override readonly name = 'OutOfPlace';
  readonly last: number;
  constructor(last: number) {
    super(`the bus is at revision ${last}`);
    this.last = last;
  }
}

/** The transport cannot be reached now; the message may or may not have been published. */
export class BusUnavailable extends Error {
  override readonly name = 'BusUnavailable';
}
