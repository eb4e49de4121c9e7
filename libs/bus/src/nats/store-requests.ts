import type { Clock, Timer } from '@holdfast/platform';
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from 'nats';
import { NATS_REQUEST_TIMEOUT_MS } from '../limits.ts';

/** Nobody takes what was published: the stream is gone. */
export class NobodyStores extends Error {
  override readonly name = 'NobodyStores';
}

interface Waiting {
  readonly resolve: (reply: string) => void;
  readonly reject: (error: Error) => void;
  readonly overdueAt: number;
}

/**
 * Publishes of one connection and the answers that they wait for. The library's own requests take a timer, an error with its
 * stack and two promises each; these share one inbox and one timer, and many of them leave in one packet.
 */
export class StoreRequests {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #inbox: string;
  /** In the order of publishing, so the first is the oldest. */
  readonly #waiting = new Map<string, Waiting>();
  #next = 0;
  #timer: Timer | undefined;

  constructor(connection: NatsConnection, options: { readonly inboxPrefix: string; readonly clock: Clock }) {
    this.#connection = connection;
    this.#clock = options.clock;
    this.#inbox = createInbox(options.inboxPrefix);
    connection.subscribe(`${this.#inbox}.*`, { callback: (error, msg) => this.#arrive(error, msg) });
    void connection.closed().then(() => this.#failAll(new Error('the connection was lost')));
  }

  /** Resolves with the text of the answer. Rejects with `NobodyStores`, or with what is wrong with the connection. */
  send(subject: string, body: string, headers: MsgHdrs): Promise<string> {
    const token = String(this.#next++);
    return new Promise((resolve, reject) => {
      this.#connection.publish(subject, Buffer.from(body), { reply: `${this.#inbox}.${token}`, headers });
      this.#waiting.set(token, { resolve, reject, overdueAt: this.#clock.monotonic() + NATS_REQUEST_TIMEOUT_MS });
      this.#timer ??= this.#clock.timer(NATS_REQUEST_TIMEOUT_MS, () => this.#failOverdue());
    });
  }

  #arrive(error: Error | null, msg: Msg): void {
    if (error !== null) {
      this.#failAll(error);
      return;
    }
    const token = msg.subject.slice(this.#inbox.length + 1);
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) return;
    this.#waiting.delete(token);
    if (msg.headers?.code === 503) waiting.reject(new NobodyStores('no stream takes changes'));
    else waiting.resolve(msg.string());
  }

  #failOverdue(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (const [token, { reject, overdueAt }] of this.#waiting) {
      if (overdueAt > now) {
        this.#timer = this.#clock.timer(overdueAt - now, () => this.#failOverdue());
        return;
      }
      this.#waiting.delete(token);
      reject(new Error(`no answer within ${NATS_REQUEST_TIMEOUT_MS} ms`));
    }
  }

  #failAll(error: Error): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(error);
  }
}
