import { type Clock, InFlight, type Timer } from '@holdfast/platform';
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from 'nats';
import { NATS_REQUEST_TIMEOUT_MS } from '../limits.ts';

/** The stream is gone: nothing stores what was published. */
export class NobodyStores extends Error {
  override readonly name = 'NobodyStores';
}

export interface Outgoing {
  readonly subject: string;
  readonly body: string;
  readonly headers: MsgHdrs;
}

interface Waiting {
  readonly resolve: (reply: string) => void;
  readonly reject: (error: Error) => void;
  readonly overdueAt: number;
}

/**
 * Publishes of one connection that wait for their replies. The library's own requests each cost a timer, an error with
 * a stack and two promises. These requests share one inbox and one timer.
 */
export class StoreRequests {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #inbox: string;
  readonly #waiting = new InFlight<Waiting>();
  #last = 0;
  #timer: Timer | undefined;

  constructor(connection: NatsConnection, options: { readonly inboxPrefix: string; readonly clock: Clock }) {
    this.#connection = connection;
    this.#clock = options.clock;
    this.#inbox = createInbox(options.inboxPrefix);
    connection.subscribe(`${this.#inbox}.*`, { callback: (error, msg) => this.#arrive(error, msg) });
    void connection.closed().then(() => this.#failAll(new Error('the connection was lost')));
  }

  /**
   * Sends the messages together and in order; only the last is acknowledged. Resolves with the text of that
   * acknowledgement. Rejects with `NobodyStores`, or with the error of the connection.
   */
  send(messages: readonly Outgoing[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const number = ++this.#last;
      const reply = `${this.#inbox}.${number}`;
      const last = messages.length - 1;
      for (const [i, { subject, body, headers }] of messages.entries()) {
        this.#connection.publish(subject, Buffer.from(body), i === last ? { headers, reply } : { headers });
      }
      this.#waiting.set(number, { resolve, reject, overdueAt: this.#clock.monotonic() + NATS_REQUEST_TIMEOUT_MS });
      this.#timer ??= this.#clock.timer(NATS_REQUEST_TIMEOUT_MS, () => this.#failOverdue());
    });
  }

  #arrive(error: Error | null, msg: Msg): void {
    if (error !== null) {
      this.#failAll(error);
      return;
    }
    const number = Number(msg.subject.slice(this.#inbox.length + 1));
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    if (msg.headers?.code === 503) waiting.reject(new NobodyStores('no stream takes changes'));
    else waiting.resolve(msg.string());
  }

  #failOverdue(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    let nextDueAt = Number.POSITIVE_INFINITY;
    for (const [number, { reject, overdueAt }] of this.#waiting.entries()) {
      if (overdueAt > now) {
        nextDueAt = Math.min(nextDueAt, overdueAt);
        continue;
      }
      this.#waiting.delete(number);
      reject(new Error(`no answer within ${NATS_REQUEST_TIMEOUT_MS} ms`));
    }
    if (this.#waiting.size > 0) this.#timer = this.#clock.timer(nextDueAt - now, () => this.#failOverdue());
  }

  #failAll(error: Error): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(error);
  }
}
