/**
 * The bus carries every committed change to its subscribers. It only wakes and informs: messages may be lost,
 * duplicated, delayed and reordered without harm. Consumers detect gaps by the chain below and recover from the API.
 * Backends (local, nats) pass the same contract tests (`@holdfast/bus/contract`).
 */
export interface Bus {
  /**
   * Publishes one heartbeat, or changes of successive revisions (at most `changesAtOnce`). Resolves when the transport
   * accepted all of them (nats: the stream stored them). The transport accepts a change only directly after the
   * revision before it, so it refuses everything after a refused change.
   *
   * Rejects with `OutOfPlace` when the transport is at another position than a message needs: it has the messages up to
   * that position. Rejects with `BusUnavailable` when it cannot be reached: it may have any number of them, without a
   * hole.
   */
  publish(messages: readonly BusMessage[]): Promise<void>;
  /** Maximum number of changes in one `publish`; absent means one. */
  readonly changesAtOnce?: number;
  /**
   * Present when the transport accepts or refuses messages synchronously: `publish` without a promise and for any
   * number of messages.
   */
  readonly publishNow?: (messages: readonly BusMessage[]) => void;
  /**
   * True when subscribers get every message above `after` that was accepted, or an interruption before the returned
   * promise of `subscribe` resolves: nothing is between the publisher and them.
   */
  readonly losesNothing?: true;
  /**
   * Delivers messages whose subject matches any of `patterns` (`*` = one token, a trailing `>` = one or more) and whose
   * revision is above `after`, as far back as the bus still has them. Handlers run one at a time in order of arrival,
   * possibly before the returned promise resolves. Give all patterns of one cache in ONE subscription: only one
   * subscription has an order between channels (a pod's change on its node never comes before its change as a pending
   * pod).
   */
  subscribe(patterns: string | readonly string[], options: SubscribeOptions): Promise<Subscription>;
  /** Returns sentences about what is wrong; empty when connected. */
  health(): readonly string[];
  close(): Promise<void>;
  /**
   * The messages that the transport keeps for replay; absent when it keeps none. Only publishers of changes need it.
   */
  readonly retained?: Retained;
  /** What publishers tell each other beside the changes; absent when there can be no other publisher. */
  readonly notes?: Notes;
}

/** Texts between publishers. Nothing is kept or repeated: a text that is lost must do no harm. Never rejects. */
export interface Notes {
  /** Sends a text to all other publishers, or to nobody while there is no connection. Never waits. */
  tell(text: string): void;
  /** Calls `onNote` with the texts of others, and of this publisher. Returns what ends it. */
  listen(onNote: (text: string) => void): () => void;
}

export interface SubscribeOptions {
  /**
   * Skip messages at or below this revision. Heartbeats are not changes: they are always delivered and never replayed.
   */
  readonly after?: number;
  readonly onMessage: (message: BusMessage) => void;
  /**
   * The transport knows that messages above `after`, or later ones, may be lost (trimmed, reconnected, restarted):
   * recover from the API. The subscription continues by itself; do not subscribe again.
   */
  readonly onInterruption?: () => void;
}

export interface Subscription {
  /** No handler runs after this promise resolved. */
  close(): Promise<void>;
}

export interface BusMessage {
  readonly subject: string;
  /** The revision of the change. In a heartbeat it equals `Heartbeat.rev`. There is one message per revision. */
  readonly revision: number;
  /**
   * No message of the same channel (see `channelOf` in subjects.ts) lies between this revision and `revision`. It is
   * the revision of the previous message or, from a publisher that just took over, the revision at the takeover. A
   * consumer that is complete only to a lower revision has a gap. `undefined` means unknown.
   */
  readonly previous: number | undefined;
  /**
   * JSON text of a `ChangeEvent`, or of a `Heartbeat` on `HEARTBEAT_SUBJECT`. A publisher may compose it on the first
   * read.
   */
  readonly data: string;
  /**
   * `data` without the object, for a transport that cannot carry the whole text. The receiver reads the object from the
   * API.
   */
  readonly brief?: string;
  /** The span that wrote the change, as a W3C `traceparent`. Absent without tracing. */
  readonly trace?: string;
  /** Approximate number of characters of `data`, known without composing it. */
  readonly size?: number;
  /**
   * The parsed content of `data`, for consumers in the publisher's process. Absent on a message that came over a
   * network.
   */
  readonly shared?: SharedChange;
  /**
   * Set by publishers when this change moved the object away from another subject (a pod was bound). Every backend
   * delivers it to the subscribers of that subject as a message of its own with the same revision, after this message
   * if they get both. Never set on a delivered message.
   */
  readonly departure?: Departure;
}

/** The message for subscribers of the subject that an object left. */
export interface Departure {
  readonly subject: string;
  /** As in `BusMessage`, on the channel of the subject that the object left. */
  readonly previous: number | undefined;
  /** JSON text of a `ChangeEvent` of type DELETED with `movedTo`. */
  readonly data: string;
  readonly shared?: SharedChange;
}

/** A `ChangeEvent` that the consumer need not parse. */
export interface SharedChange {
  readonly type: ChangeEvent['type'];
  /**
   * `namespace/name`, or `name` for cluster-scoped objects. It is not the store key. All consumers share one string.
   */
  readonly key: string;
  /** False when `ChangeEvent.object` is absent; then `object()` returns undefined. */
  readonly hasObject: boolean;
  readonly movedTo: string | undefined;
  /**
   * Returns a deep-frozen object, the same for all callers. It may be parsed on the first call, so call it only when
   * needed.
   */
  object(): unknown;
}

/** The content of a change message. */
export interface ChangeEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** The store key. */
  readonly key: string;
  /** The object with its `metadata.resourceVersion`; absent for kinds whose content must not be on the bus (Secrets). */
  readonly object?: unknown;
  /**
   * Only with DELETED: the object still exists but left this channel for that subject at this revision. A consumer of
   * both channels already has the new state at the same revision and drops this message as not newer.
   */
  readonly movedTo?: string;
}

/** The publisher's progress. A consumer of a quiet channel learns from it whether it missed the last message. */
export interface Heartbeat {
  /** Every change up to this revision was published. */
  readonly rev: number;
  /** Changes above this revision can still be replayed. */
  readonly floor: number;
  /**
   * No publisher omitted a change above this revision. A consumer that was complete only to an earlier one has a hole.
   */
  readonly since: number;
  /**
   * Last revision of the channels that changed recently. A heartbeat may overtake changes in flight, so a channel has
   * lost something only when it is behind in two heartbeats in a row.
   */
  readonly tails: Readonly<Record<string, number>>;
  /**
   * Channels without an entry had no change above this revision: a consumer that is complete up to it misses nothing of
   * them.
   */
  readonly quiet: number;
  /**
   * Identifies the history that a client complete up to `rev` has seen. See `docs/internals/apiserver.md`, "Lineage".
   */
  readonly seen?: string;
  /** More channels changed recently than `tails` names, so a channel below `quiet` may be complete. */
  readonly crowded?: boolean;
}

export interface Retained {
  /** `last`: the highest revision ever published (0 = none). Every change in (floor, last] can be replayed. */
  position(): Promise<{ readonly floor: number; readonly last: number }>;
  /**
   * Drops all kept messages. The next change may have any revision above `revision`. Consumers below it get an
   * interruption.
   */
  restartAfter(revision: number): Promise<void>;
}

/** The transport's last revision is `last`. The message is either already published or would leave a hole. */
export class OutOfPlace extends Error {
  override readonly name = 'OutOfPlace';
  readonly last: number;
  constructor(last: number) {
    super(`the bus is at revision ${last}`);
    this.last = last;
  }
}

/** The transport cannot be reached now. The message may or may not have been published. */
export class BusUnavailable extends Error {
  override readonly name = 'BusUnavailable';
}
