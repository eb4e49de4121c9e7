import { type Clock, describeError, type Log } from '@holdfast/platform';
import { AUDIT_QUEUE_CHARACTERS_MAX, AUDIT_QUEUE_EVENTS_MAX, AUDIT_WRITE_MS } from '../limits.ts';
import { EventQueue } from './event-queue.ts';
import { type AuditMode, type AuditSink, endsInTime } from './sink.ts';

/** A file that grows, or a stream. */
export interface AuditFile {
  readonly open: () => Promise<void>;
  /** Appends whole lines; throws the machine's error. */
  readonly append: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface LogSinkDeps {
  readonly file: AuditFile;
  readonly mode: AuditMode;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes events as lines. What gathers while one write is under way makes up the next. */
export function createLogSink(deps: LogSinkDeps): AuditSink {
  const sink = new LogSink(deps);
  return {
    name: 'log',
    take: (event) => sink.take(event),
    lost: () => sink.lost,
    start: () => deps.file.open(),
    stop: () => sink.stop(),
  };
}

class LogSink {
  lost = 0;
  readonly #deps: LogSinkDeps;
  readonly #queue = new EventQueue();
  #writing: Promise<void> | undefined;
  /** Events of the write that is under way. */
  #inFlight = 0;
  #isOver = false;
  /** The last write failed: reported once until a write succeeds. */
  #isFailing = false;

  constructor(deps: LogSinkDeps) {
    this.#deps = deps;
  }

  take(event: string): Promise<boolean> | boolean | undefined {
    const { mode } = this.#deps;
    if (this.#isOver) {
      this.#lose(1, 'the server has stopped');
      return mode === 'batch' ? undefined : mode !== 'blocking-strict';
    }
    if (mode === 'batch') {
      if (this.#queue.add(event)) this.#write();
      else this.#lose(1, 'events come faster than they are written');
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    if (!this.#queue.add(event, resolve)) {
      this.#lose(1, 'events come faster than they are written');
      return mode !== 'blocking-strict';
    }
    this.#write();
    const deadline = this.#deps.clock.timer(AUDIT_WRITE_MS, () => resolve(false));
    return promise.finally(() => deadline.cancel()).then((kept) => kept || mode !== 'blocking-strict');
  }

  async stop(): Promise<void> {
    const isWritten = await endsInTime(this.#deps.clock, this.#writeAll());
    this.#isOver = true;
    // A file that does not take a write may not close either.
    if (isWritten) return this.#deps.file.close();
    const left = this.#inFlight + this.#queue.length;
    this.lost += left;
    this.#deps.log.error('audit events are lost: the server stops before the audit log is written', { events: left });
  }

  async #writeAll(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #write(): void {
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
      // Came while the last write ended.
      if (this.#queue.length > 0 && !this.#isOver) this.#write();
    });
  }

  async #drain(): Promise<void> {
    // Events of one turn of the event loop are written together.
    await Promise.resolve();
    while (this.#queue.length > 0 && !this.#isOver) {
      const batch = this.#queue.take(AUDIT_QUEUE_EVENTS_MAX, AUDIT_QUEUE_CHARACTERS_MAX);
      this.#inFlight = batch.texts.length;
      try {
        await this.#deps.file.append(`${batch.texts.join('\n')}\n`);
        this.#works();
        batch.settle(true);
      } catch (error) {
        // After the stop it is counted already.
        if (!this.#isOver) this.#lose(batch.texts.length, describeError(error));
        batch.settle(false);
      }
      this.#inFlight = 0;
    }
  }

  #lose(events: number, why: string): void {
    this.lost += events;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#deps.log.error('audit events are lost: the audit log cannot be written', { error: why });
  }

  #works(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#deps.log.info('the audit log is written again', { eventsLost: this.lost });
  }
}
