import { StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { afterThisStep, afterThisTurn } from '@holdfast/platform/event-loop';
import type { User } from '../authentication/identity.ts';
import { PAUSED_WORK_MAX, TURN_MS, WAITING_PER_FLOW_MAX } from '../limits.ts';
import { AnswersUnderWay } from './answers-under-way.ts';
import { FairQueue, type Flow } from './fair-queue.ts';

/** Work that waits for a turn. */
interface Waiting {
  readonly user: User;
  readonly kind: 'begins' | 'begins large' | 'goes on';
  readonly start: () => void;
}

/**
 * Schedules work on the request thread. While a turn of the event loop is short, all work begins immediately. After
 * that, new requests and continued work wait for their own turn, and users take turns. The turn of a user is for what
 * waits of it, before requests arrive that are newer.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #answers: AnswersUnderWay;
  readonly #queue = new FairQueue<Waiting>();
  /** Large requests that may not begin while too much work is paused: each paused request keeps its documents in memory. */
  readonly #held = new FairQueue<Waiting>();
  #paused = 0;
  #isOpen = false;
  #began = 0;
  /** The user of the turn: the last one that began in it. */
  #current: User | undefined;
  /** The flow of the last request of each; work between its parts waits there, too. */
  readonly #flows = new WeakMap<User, Flow>();

  constructor(clock: Clock, answers = new AnswersUnderWay()) {
    this.#clock = clock;
    this.#answers = answers;
    answers.onRoom(() => {
      if (!this.#isOpen) this.#startNext();
    });
  }

  /** Requests, and parts of such, that wait. */
  get waiting(): number {
    return this.#queue.size + this.#held.size;
  }

  /** For a new request: `undefined` when it may begin now. Throws 429 when too many of its flow wait. */
  begin(user: User, flow: Flow, isLarge = false): Promise<void> | undefined {
    this.#flows.set(user, flow);
    if (isLarge && this.#paused >= PAUSED_WORK_MAX) return this.#wait(user, 'begins large');
    return this.#mayGoOn(user) ? undefined : this.#wait(user, isLarge ? 'begins large' : 'begins');
  }

  /** For long work, between its parts: `undefined` while no other work waits. */
  goOn(user: User): Promise<void> | undefined {
    return this.#mayGoOn(user) ? undefined : this.#wait(user, 'goes on');
  }

  /** True when `goOn` would wait: for work that rarely does, and should not pay for a promise. */
  isOver(user: User): boolean {
    return !this.#mayGoOn(user);
  }

  #mayGoOn(user: User): boolean {
    if (this.#answers.isFull) return false;
    if (!this.#isOpen) {
      if (this.#queue.size > 0) return false;
      this.#open(user);
      return true;
    }
    if (this.#queue.size > 0 && user !== this.#current) return false;
    if (this.#isSpent()) return false;
    this.#current = user;
    return true;
  }

  #isSpent(): boolean {
    return this.#clock.monotonic() - this.#began >= TURN_MS;
  }

  #wait(user: User, kind: Waiting['kind']): Promise<void> {
    const flow = this.flowOf(user);
    const waiting = this.#queue.lengthOf(flow) + this.#held.lengthOf(flow);
    if (kind !== 'goes on' && waiting >= flow.waitingMax) throw tooManyWaiting();
    if (kind === 'goes on') this.#paused += 1;
    return new Promise((resolve) => {
      const start = (): void => {
        if (kind === 'goes on') this.#paused -= 1;
        resolve();
      };
      this.#queue.push(flow, { user, kind, start });
    });
  }

  /** Paused work is in the queue, so delayed work always gets its turn. */
  #startNext(): void {
    const held = this.#paused < PAUSED_WORK_MAX ? this.#held.next() : undefined;
    if (held !== undefined) this.#queue.push(held.flow, held.item);
    for (let next = this.#queue.next(); next !== undefined; next = this.#queue.next()) {
      const { flow, item } = next;
      if (item.kind !== 'begins large' || this.#paused < PAUSED_WORK_MAX) {
        this.#open(item.user);
        item.start();
        this.#shareTurn(flow);
        return;
      }
      this.#held.push(flow, item);
    }
  }

  /** More of the user's work, when what has started pauses while the turn lasts. */
  #shareTurn(flow: Flow): void {
    afterThisStep(() => {
      if (!this.#isOpen || this.#isSpent() || this.#answers.isFull) return;
      const next = this.#queue.firstOf(flow);
      if (next === undefined || next.user !== this.#current || next.kind === 'begins large') return;
      this.#queue.takeOf(flow);
      next.start();
      this.#shareTurn(flow);
    });
  }

  /** The queue of this user's work. */
  flowOf(user: User): Flow {
    return this.#flows.get(user) ?? { level: '', key: user.name, weight: 1, waitingMax: WAITING_PER_FLOW_MAX };
  }

  #open(user: User): void {
    this.#isOpen = true;
    this.#current = user;
    this.#began = this.#clock.monotonic();
    afterThisTurn(this.#close);
  }

  readonly #close = (): void => {
    this.#isOpen = false;
    const cost = this.#clock.monotonic() - this.#began;
    // While others wait every turn counts: a user of many short requests would stay the one that was given least.
    if (this.#current !== undefined && (cost >= CHARGED_FROM_MS || this.#queue.size > 0))
      this.#queue.charge(this.flowOf(this.#current), Math.max(cost, CHARGED_FROM_MS));
    this.#current = undefined;
    if (!this.#answers.isFull) this.#startNext();
  };
}

/** Less is not worth the bookkeeping. */
const CHARGED_FROM_MS = 0.5;

/** Flow control's wording. */
const tooManyWaiting = (): StatusError =>
  new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: 'too many requests, please try again later.',
    details: { retryAfterSeconds: 1 },
  });
