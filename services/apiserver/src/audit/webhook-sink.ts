import { type Clock, describeError, type Log } from '@holdfast/platform';
import {
  AUDIT_WEBHOOK_ATTEMPTS,
  AUDIT_WEBHOOK_BATCH_CHARACTERS,
  AUDIT_WEBHOOK_BATCH_EVENTS,
  AUDIT_WEBHOOK_BATCH_WAIT_MS,
  AUDIT_WEBHOOK_RETRY_FIRST_MS,
} from '../limits.ts';
import { EventQueue } from './event-queue.ts';
import { type AuditSink, endsInTime } from './sink.ts';

export interface WebhookSinkDeps {
  /** Posts one EventList. Throws when it was not taken. */
  readonly send: (body: string) => Promise<void>;
  readonly close: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sends events in batches. No request waits for it: what finds no room is lost, and counted. */
export function createWebhookSink(deps: WebhookSinkDeps): AuditSink {
  const sink = new WebhookSink(deps);
  return {
    name: 'webhook',
    take: (event) => sink.take(event),
    lost: () => sink.lost,
    start: async () => {},
    stop: () => sink.stop(),
  };
}

class WebhookSink {
  lost = 0;
  readonly #deps: WebhookSinkDeps;
  readonly #queue = new EventQueue();
  readonly #stopping = new AbortController();
  #timer: { readonly cancel: () => void } | undefined;
  #sending: Promise<void> | undefined;
  /** Events of the batch that is on its way. */
  #inFlight = 0;
  #isOver = false;
  #isFailing = false;

  constructor(deps: WebhookSinkDeps) {
    this.#deps = deps;
  }

  take(event: string): undefined {
    if (this.#isOver) {
      this.#lose(1, 'the server has stopped');
      return;
    }
    if (!this.#queue.add(event)) {
      this.#lose(1, 'the queue is full');
      return;
    }
    this.#schedule();
  }

  /** A whole batch is sent at once, a part of one after a while. */
  #schedule(): void {
    if (this.#sending !== undefined || this.#queue.length === 0 || this.#isOver) return;
    if (this.#queue.length >= AUDIT_WEBHOOK_BATCH_EVENTS) this.#send();
    else this.#timer ??= this.#deps.clock.timer(AUDIT_WEBHOOK_BATCH_WAIT_MS, () => this.#send());
  }

  /** Sends the queued events once more, batch by batch, until the deadline. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await endsInTime(this.#deps.clock, this.#deliverAll());
    this.#isOver = true;
    this.#timer?.cancel();
    const left = this.#inFlight + this.#queue.length;
    if (left > 0) {
      this.lost += left;
      this.#deps.log.error('audit events are lost: the server stops before the audit webhook has accepted them', {
        events: left,
      });
    }
    await this.#deps.close();
  }

  async #deliverAll(): Promise<void> {
    await this.#sending;
    this.#send();
    await this.#sending;
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = undefined;
      // Came while the last batch ended.
      this.#schedule();
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 && !this.#isOver) {
      const { texts } = this.#queue.take(AUDIT_WEBHOOK_BATCH_EVENTS, AUDIT_WEBHOOK_BATCH_CHARACTERS);
      const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${texts.join(',')}]}`;
      this.#inFlight = texts.length;
      await this.#deliver(body, texts.length);
      this.#inFlight = 0;
    }
  }

  async #deliver(body: string, events: number): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#deps.send(body);
        return this.#works();
      } catch (error) {
        // It was counted at the stop.
        if (this.#isOver) return;
        if (attempt >= AUDIT_WEBHOOK_ATTEMPTS || signal.aborted) return this.#lose(events, describeError(error));
        const pause = AUDIT_WEBHOOK_RETRY_FIRST_MS * 2 ** (attempt - 1);
        await this.#deps.clock.sleep(pause, signal).catch(() => {});
      }
    }
  }

  #lose(events: number, why: string): void {
    this.lost += events;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#deps.log.error('audit events are lost: the audit webhook does not accept them', { error: why });
  }

  #works(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#deps.log.info('the audit webhook accepts events again', { eventsLost: this.lost });
  }
}
