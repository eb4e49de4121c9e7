import { RevisionRing } from '@holdfast/platform';
import { LOCAL_CHANNELS_REMEMBERED, LOCAL_RETAINED_CHARACTERS, LOCAL_RETAINED_MESSAGES } from '../limits.ts';
import {
  type Bus,
  type BusMessage,
  BusUnavailable,
  type Departure,
  type SubscribeOptions,
  type Subscription,
} from '../port.ts';
import { channelOf, HEARTBEAT_SUBJECT, matchesSubject, takesWholeChannels } from '../subjects.ts';
import { createPatternIndex, type PatternIndex } from './pattern-index.ts';

export interface LocalBusOptions {
  readonly retainedMessages?: number;
  readonly retainedCharacters?: number;
}

/**
 * The bus of one process. Delivery is asynchronous (a publisher never runs a handler) but uses microtasks only, so that a
 * simulation on virtual time replays it exactly.
 */
export function createLocalBus(options: LocalBusOptions = {}): Bus & Required<Pick<Bus, 'retained' | 'publishNow'>> {
  return new LocalBus(options);
}

/** Size estimate: a departure holds only the key and the new subject. */
const DEPARTURE_CHARACTERS = 200;

/** Reads the text only when the size is not known: making it may be costly. */
const charactersOf = (message: BusMessage): number =>
  (message.size ?? message.data.length) + (message.departure === undefined ? 0 : DEPARTURE_CHARACTERS);

class LocalBus implements Bus {
  readonly #index: PatternIndex<LocalSubscription> = createPatternIndex();
  readonly #open = new Set<LocalSubscription>();
  /** The latest changes. */
  readonly #ring: RevisionRing<BusMessage>;
  /** The subscribers of each channel. Valid only while every pattern takes whole channels. */
  readonly #byChannel = new Map<string, readonly LocalSubscription[]>();
  #finePatterns = 0;
  #nextId = 1;
  #closed = false;

  constructor(options: LocalBusOptions) {
    this.#ring = new RevisionRing({
      maxItems: options.retainedMessages ?? LOCAL_RETAINED_MESSAGES,
      maxSize: options.retainedCharacters ?? LOCAL_RETAINED_CHARACTERS,
      sizeOf: charactersOf,
    });
  }

  /** Not a field: a copy of the methods is another bus. */
  get losesNothing(): true {
    return true;
  }

  async publish(messages: readonly BusMessage[]): Promise<void> {
    this.publishNow(messages);
  }

  publishNow(messages: readonly BusMessage[]): void {
    for (const message of messages) this.#publish(message);
  }

  #publish(message: BusMessage): void {
    if (this.#closed) throw new BusUnavailable('the in-process bus is closed');
    this.#retain(message);
    this.#deliver(delivered(message));
    const notice = noticeOf(message);
    if (notice !== undefined) this.#deliver(notice);
  }

  /** A message that is not newer than the newest one is a repetition. */
  #retain(message: BusMessage): void {
    if (message.subject !== HEARTBEAT_SUBJECT && message.revision > this.#ring.last) this.#ring.push(message);
  }

  #deliver(message: BusMessage): void {
    for (const subscription of this.#subscribersOf(message.subject)) subscription.offer(message);
  }

  /** Returns subscribers in the order of subscription for every shape of pattern: simulations depend on it. */
  #subscribersOf(subject: string): readonly LocalSubscription[] {
    if (this.#finePatterns > 0) return this.#matching(subject);
    const channel = channelOf(subject);
    const known = this.#byChannel.get(channel);
    if (known !== undefined) return known;
    const found = this.#matching(subject);
    if (this.#byChannel.size >= LOCAL_CHANNELS_REMEMBERED) this.#byChannel.clear();
    this.#byChannel.set(channel, found);
    return found;
  }

  #matching(subject: string): readonly LocalSubscription[] {
    const matches = new Set<LocalSubscription>();
    this.#index.match(subject, (subscription) => matches.add(subscription));
    return [...matches].sort((a, b) => a.id - b.id);
  }

  async subscribe(patterns: string | readonly string[], options: SubscribeOptions): Promise<Subscription> {
    if (this.#closed) throw new BusUnavailable('the in-process bus is closed');
    const list = typeof patterns === 'string' ? [patterns] : patterns;
    const subscription = new LocalSubscription(this.#nextId++, options, () => this.#remove(subscription, list));
    this.#replay(subscription, list, options);
    for (const pattern of list) this.#index.add(pattern, subscription);
    this.#finePatterns += countOfFine(list);
    this.#byChannel.clear();
    this.#open.add(subscription);
    return subscription;
  }

  #replay(subscription: LocalSubscription, patterns: readonly string[], { after }: SubscribeOptions): void {
    if (after === undefined) return;
    if (after < this.#ring.floor) subscription.interrupt();
    const offer = (message: BusMessage | undefined): void => {
      if (message !== undefined && patterns.some((pattern) => matchesSubject(pattern, message.subject))) {
        subscription.offer(message);
      }
    };
    for (const message of this.#ring.after(after)) {
      offer(delivered(message));
      offer(noticeOf(message));
    }
  }

  #remove(subscription: LocalSubscription, patterns: readonly string[]): void {
    if (!this.#open.delete(subscription)) return;
    for (const pattern of patterns) this.#index.remove(pattern, subscription);
    this.#finePatterns -= countOfFine(patterns);
    this.#byChannel.clear();
  }

  readonly retained = {
    position: async () => ({ floor: this.#ring.floor, last: this.#ring.last }),
    restartAfter: async (revision: number) => {
      this.#ring.restartAfter(revision);
      for (const subscription of this.#open) subscription.interrupt();
    },
  };

  health(): readonly string[] {
    return this.#closed ? ['the in-process bus is closed'] : [];
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = [...this.#open];
    for (const subscription of open) await subscription.close();
  }
}

/** Handlers of one subscription run one at a time from its own queue. */
class LocalSubscription implements Subscription {
  readonly id: number;
  readonly #options: SubscribeOptions;
  readonly #detach: () => void;
  /** Stays short: it is drained before any timer or I/O of the process runs. */
  #queue: (BusMessage | 'interruption')[] = [];
  #draining = false;
  #closed = false;

  constructor(id: number, options: SubscribeOptions, detach: () => void) {
    this.id = id;
    this.#options = options;
    this.#detach = detach;
  }

  offer(message: BusMessage): void {
    const { after } = this.#options;
    if (after !== undefined && message.revision <= after && message.subject !== HEARTBEAT_SUBJECT) return;
    this.#enqueue(message);
  }

  interrupt(): void {
    if (this.#options.onInterruption !== undefined) this.#enqueue('interruption');
  }

  #enqueue(item: BusMessage | 'interruption'): void {
    if (this.#closed) return;
    this.#queue.push(item);
    if (this.#draining) return;
    this.#draining = true;
    queueMicrotask(() => this.#drain());
  }

  #drain(): void {
    let next = 0;
    try {
      for (; next < this.#queue.length; ) this.#handle(this.#queue[next++]);
    } finally {
      this.#queue = this.#queue.slice(next);
      this.#draining = false;
      // A handler threw, which is a bug that the process reports. The messages after it must still arrive.
      if (this.#queue.length > 0) {
        this.#draining = true;
        queueMicrotask(() => this.#drain());
      }
    }
  }

  #handle(item: BusMessage | 'interruption' | undefined): void {
    if (item === undefined || this.#closed) return;
    if (item === 'interruption') this.#options.onInterruption?.();
    else this.#options.onMessage(item);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#queue = [];
    this.#detach();
  }
}

const countOfFine = (patterns: readonly string[]): number =>
  patterns.filter((pattern) => !takesWholeChannels(pattern)).length;

/** The view of a message that subscribers get: without the publisher's fields. */
function delivered(message: BusMessage): BusMessage {
  return message.departure === undefined ? message : view(message, message);
}

function noticeOf(message: BusMessage): BusMessage | undefined {
  return message.departure === undefined ? undefined : view(message.departure, message);
}

/** Composes the text only when somebody reads it. */
function view(of: BusMessage | Departure, { revision, trace }: BusMessage): BusMessage {
  const { subject, previous, shared } = of;
  return {
    subject,
    revision,
    previous,
    get data() {
      return of.data;
    },
    ...(shared === undefined ? {} : { shared }),
    ...(trace === undefined ? {} : { trace }),
  };
}
