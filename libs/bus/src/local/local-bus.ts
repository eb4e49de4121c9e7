import { LOCAL_RETAINED_CHARACTERS, LOCAL_RETAINED_MESSAGES } from '../limits.ts';
import { type Bus, type BusMessage, BusUnavailable, type SubscribeOptions, type Subscription } from '../port.ts';
import { HEARTBEAT_SUBJECT, matchesSubject } from '../subjects.ts';
import { createPatternIndex, type PatternIndex } from './pattern-index.ts';
import { createRing, type Ring } from './ring.ts';

export interface LocalBusOptions {
  readonly retainedMessages?: number;
  readonly retainedCharacters?: number;
}

/**
 * The bus of one process. Delivery is asynchronous (a publisher never runs a handler) but uses microtasks only, so that a
 * simulation on virtual time replays it exactly.
 */
export function createLocalBus(options: LocalBusOptions = {}): Bus & Required<Pick<Bus, 'retained'>> {
  return new LocalBus(options);
}

class LocalBus implements Bus {
  readonly #index: PatternIndex<LocalSubscription> = createPatternIndex();
  readonly #open = new Set<LocalSubscription>();
  readonly #ring: Ring;
  #nextId = 1;
  #closed = false;

  constructor(options: LocalBusOptions) {
    this.#ring = createRing({
      messages: options.retainedMessages ?? LOCAL_RETAINED_MESSAGES,
      characters: options.retainedCharacters ?? LOCAL_RETAINED_CHARACTERS,
    });
  }

  async publish(message: BusMessage): Promise<void> {
    if (this.#closed) throw new BusUnavailable('the in-process bus is closed');
    if (message.subject !== HEARTBEAT_SUBJECT) this.#ring.push(message);
    this.#deliver(delivered(message));
    const notice = noticeOf(message);
    if (notice !== undefined) this.#deliver(notice);
  }

  #deliver(message: BusMessage): void {
    const matches = new Set<LocalSubscription>();
    this.#index.match(message.subject, (subscription) => matches.add(subscription));
    // In the order of subscribing, whatever the shape of the patterns: simulations depend on it.
    for (const subscription of [...matches].sort((a, b) => a.id - b.id)) subscription.offer(message);
  }

  async subscribe(patterns: string | readonly string[], options: SubscribeOptions): Promise<Subscription> {
    if (this.#closed) throw new BusUnavailable('the in-process bus is closed');
    const list = typeof patterns === 'string' ? [patterns] : patterns;
    const subscription = new LocalSubscription(this.#nextId++, options, () => this.#remove(subscription, list));
    this.#replay(subscription, list, options);
    for (const pattern of list) this.#index.add(pattern, subscription);
    this.#open.add(subscription);
    return subscription;
  }

  #replay(subscription: LocalSubscription, patterns: readonly string[], { after }: SubscribeOptions): void {
    if (after === undefined) return;
    if (after < this.#ring.position().floor) subscription.interrupt();
    const offer = (message: BusMessage | undefined): void => {
      if (message !== undefined && patterns.some((pattern) => matchesSubject(pattern, message.subject))) {
        subscription.offer(message);
      }
    };
    this.#ring.since(after, (message) => {
      offer(delivered(message));
      offer(noticeOf(message));
    });
  }

  #remove(subscription: LocalSubscription, patterns: readonly string[]): void {
    this.#open.delete(subscription);
    for (const pattern of patterns) this.#index.remove(pattern, subscription);
  }

  readonly retained = {
    position: async () => this.#ring.position(),
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
  /** Short by nature: it is drained to the end before any timer or I/O of the process runs. */
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
      // A handler threw (a bug, reported by the process): the messages behind it must still arrive.
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

/** What subscribers see of a message. */
function delivered(message: BusMessage): BusMessage {
  if (message.departure === undefined) return message;
  const { departure: _, ...rest } = message;
  return rest;
}

function noticeOf({ departure, revision }: BusMessage): BusMessage | undefined {
  return departure === undefined ? undefined : { revision, ...departure };
}
