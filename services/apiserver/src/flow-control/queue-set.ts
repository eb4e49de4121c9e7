import type { Ticket } from './ticket.ts';

/** The handling of a level's requests: unlimited, rejected without a seat, or queued. */
export type Handling =
  | { readonly kind: 'exempt' }
  | { readonly kind: 'reject' }
  | { readonly kind: 'queue'; readonly queueLengthLimit: number };

export type Arrival = 'executing' | 'waiting' | Refusal;
/** Kubernetes' names in the metric. */
export type Refusal = 'queue-full' | 'concurrency-limit';

/** The assumed duration of a one-seat request before any has ended, in milliseconds. */
export const EXPECTED_MS = 3;

interface Queue<T extends Ticket> {
  readonly index: number;
  /** Entries before `head` are consumed. */
  readonly waiting: T[];
  head: number;
  /** Virtual time at which its next request begins: work that was given to it, in seat-milliseconds. */
  next: number;
  executing: number;
  seatsInUse: number;
  /** Seat-milliseconds that its waiting requests are supposed to take. */
  work: number;
}

export interface QueueState<T extends Ticket> {
  readonly index: number;
  readonly waiting: readonly T[];
  readonly executing: number;
  readonly seatsInUse: number;
  readonly next: number;
  readonly work: number;
}

/** The weight of the last request in the estimate of the next. */
const EXPECTATION_WEIGHT = 0.1;

/** Taken requests are let go together. */
const COMPACTED_FROM = 32;

/**
 * The seats of one priority level on this server, and its queues of waiting requests. Start-time fair queueing: each
 * queue has a virtual time that grows with the seat-milliseconds it gets, and the queue with the lowest one is served
 * next. An idle queue saves nothing up. Pure except for the callbacks of its tickets: each call passes the time.
 */
export class QueueSet<T extends Ticket = Ticket> {
  /** Queues used so far: a queue's virtual time must be remembered. */
  readonly #queues = new Map<number, Queue<T>>();
  readonly #active = new Set<Queue<T>>();
  #handling: Handling;
  #limit: number;
  #virtual = 0;
  /**
   * The recent duration of requests. Without it a burst of slow requests would begin as if they were cheap, and their
   * queue would then wait for long.
   */
  #expectedMs = EXPECTED_MS;
  #waiting = 0;
  #executing = 0;
  #seatsInUse = 0;
  #seatsWaiting = 0;

  constructor(handling: Handling, limit: number) {
    this.#handling = handling;
    this.#limit = limit;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get executing(): number {
    return this.#executing;
  }

  get seatsInUse(): number {
    return this.#seatsInUse;
  }

  /** Seats that would be in use if there were no limit. */
  get demand(): number {
    return this.#seatsInUse + this.#seatsWaiting;
  }

  get virtualTime(): number {
    return this.#virtual;
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#executing === 0;
  }

  /** Waiting requests stay in their queues. */
  change(handling: Handling, limit: number, now: number): void {
    this.#handling = handling;
    this.setLimit(limit, now);
  }

  setLimit(limit: number, now: number): void {
    this.#limit = limit;
    this.dispatch(now);
  }

  /** A request that begins immediately gets no callback; a waiting one gets `ticket.begin`. */
  arrive(ticket: T, now: number): Arrival {
    const { kind } = this.#handling;
    if (kind === 'exempt') return this.#execute(ticket, undefined, now);
    if (kind === 'reject') {
      return this.#fits(ticket.seats) ? this.#execute(ticket, undefined, now) : 'concurrency-limit';
    }
    const queue = this.#shortest(ticket.hand);
    if (this.#waiting === 0 && this.#fits(ticket.seats)) {
      queue.next = Math.max(queue.next, this.#virtual);
      return this.#execute(ticket, queue, now);
    }
    if (lengthOf(queue) >= this.#handling.queueLengthLimit) return 'queue-full';
    this.#enqueue(ticket, queue);
    return 'waiting';
  }

  /** The request was served, or failed. */
  finish(ticket: T, now: number): void {
    const { queue: at, seats } = ticket;
    this.#executing -= 1;
    this.#seatsInUse -= seats;
    const queue = at === undefined ? undefined : this.#queues.get(at);
    if (queue !== undefined) {
      queue.executing -= 1;
      queue.seatsInUse -= seats;
      const tookMs = now - ticket.beganAt;
      queue.next += (tookMs - ticket.expectedMs) * seats;
      this.#expectedMs += (tookMs - this.#expectedMs) * EXPECTATION_WEIGHT;
    }
    if (this.#waiting > 0) this.dispatch(now);
  }

  /** The request waits no more. False: it does not wait. */
  leave(ticket: T, now: number): boolean {
    const queue = ticket.queue === undefined ? undefined : this.#queues.get(ticket.queue);
    const place = queue?.waiting.indexOf(ticket, queue.head) ?? -1;
    if (queue === undefined || place < 0) return false;
    queue.waiting.splice(place, 1);
    this.#left(queue, ticket);
    // A later request may fit where this one did not.
    this.dispatch(now);
    return true;
  }

  /** By index: queues used so far. */
  states(): readonly QueueState<T>[] {
    return [...this.#queues.values()]
      .map(({ waiting, head, ...rest }) => ({ ...rest, waiting: waiting.slice(head) }))
      .toSorted((a, b) => a.index - b.index);
  }

  #fits(seats: number): boolean {
    if (this.#limit <= 0) return false;
    // A request that is wider than the level gets it for itself.
    if (seats > this.#limit) return this.#executing === 0;
    return this.#seatsInUse + seats <= this.#limit;
  }

  #shortest(hand: readonly number[]): Queue<T> {
    let best: Queue<T> | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const index of hand) {
      const queue = this.#queues.get(index);
      const work = queue === undefined ? 0 : queue.work + queue.seatsInUse * EXPECTED_MS;
      if (work >= least) continue;
      if (work === 0) return queue ?? this.#newQueue(index);
      least = work;
      best = queue;
    }
    return best ?? this.#newQueue(hand[0] ?? 0);
  }

  #newQueue(index: number): Queue<T> {
    const queue: Queue<T> = { index, waiting: [], head: 0, next: this.#virtual, executing: 0, seatsInUse: 0, work: 0 };
    this.#queues.set(index, queue);
    return queue;
  }

  #enqueue(ticket: T, queue: Queue<T>): void {
    if (lengthOf(queue) === 0) {
      queue.next = Math.max(queue.next, this.#virtual);
      this.#active.add(queue);
    }
    ticket.queue = queue.index;
    queue.waiting.push(ticket);
    queue.work += workOf(ticket);
    this.#waiting += 1;
    this.#seatsWaiting += ticket.seats;
  }

  #left(queue: Queue<T>, ticket: Ticket): void {
    queue.work -= workOf(ticket);
    this.#waiting -= 1;
    this.#seatsWaiting -= ticket.seats;
    if (lengthOf(queue) > 0) return;
    queue.work = 0;
    this.#active.delete(queue);
  }

  #execute(ticket: T, queue: Queue<T> | undefined, now: number): 'executing' {
    ticket.beganAt = now;
    this.#executing += 1;
    this.#seatsInUse += ticket.seats;
    if (queue !== undefined) {
      ticket.queue = queue.index;
      queue.executing += 1;
      queue.seatsInUse += ticket.seats;
      this.#virtual = Math.max(this.#virtual, queue.next);
      ticket.expectedMs = this.#expectedMs;
      queue.next += ticket.expectedMs * ticket.seats + ticket.extraWork;
    }
    return 'executing';
  }

  /** The queue that is least far goes first; where its request does not fit all wait, so that wide requests get their turn. */
  dispatch(now: number): void {
    while (this.#waiting > 0) {
      const queue = this.#nextQueue();
      const ticket = queue?.waiting[queue.head];
      if (queue === undefined || ticket === undefined) return;
      if (!this.#fits(ticket.seats)) {
        ticket.misfit();
        return;
      }
      queue.head += 1;
      if (queue.head >= COMPACTED_FROM) {
        queue.waiting.splice(0, queue.head);
        queue.head = 0;
      }
      this.#left(queue, ticket);
      this.#execute(ticket, queue, now);
      ticket.begin(now);
    }
  }

  #nextQueue(): Queue<T> | undefined {
    let first: Queue<T> | undefined;
    for (const queue of this.#active) if (first === undefined || queue.next < first.next) first = queue;
    return first;
  }
}

const lengthOf = ({ waiting, head }: Queue<Ticket>): number => waiting.length - head;

const workOf = ({ seats, extraWork }: Ticket): number => EXPECTED_MS * seats + extraWork;
