import type { Worker } from 'node:worker_threads';
import { invariant } from '@holdfast/platform';
import { startThread } from '@holdfast/platform/thread';
import { SQLITE_THREAD_YOUNG_MB } from '../limits.ts';
import type {
  LoadMarks,
  Opened,
  OpenFailure,
  Request,
  Response,
  RowColumns,
  StartMessage,
  ThreadStart,
} from './protocol.ts';

export type DoneResponse = Extract<Response, { readonly kind: 'done' }>;

/** The thread did not execute the request. */
export class ThreadRefused extends Error {
  override readonly name = 'ThreadRefused';
}

/** Other files replaced the database. The thread did not execute the request and refuses all later ones. */
export class ThreadFilesReplaced extends Error {
  override readonly name = 'ThreadFilesReplaced';
}

/** The thread or its database failed. The request may have been executed. */
export class ThreadBroken extends Error {
  override readonly name = 'ThreadBroken';
}

export class ThreadFailedToOpen extends Error {
  override readonly name = 'ThreadFailedToOpen';
  readonly failure: OpenFailure;
  constructor(failure: OpenFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

interface Waiting {
  readonly resolve: (response: DoneResponse) => void;
  readonly reject: (error: Error) => void;
}

/** Makes changes durable for the store. It answers requests in order. */
export interface CommitLog {
  /** Rejects with `ThreadRefused`, `ThreadFilesReplaced` or `ThreadBroken`. */
  ask(request: Request): Promise<DoneResponse>;
  close(): Promise<void>;
}

/** The main side of the commit thread. */
export class CommitThread implements CommitLog {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #waiting: Waiting[] = [];
  #onStart: ((message: StartMessage) => void) | undefined;
  #ended: Error | undefined;

  constructor(start: ThreadStart) {
    this.#worker = startThread(new URL('./commit-thread-main.ts', import.meta.url), {
      data: start,
      resourceLimits: { maxYoungGenerationSizeMb: SQLITE_THREAD_YOUNG_MB },
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#end(new ThreadBroken('the commit thread has ended'));
        resolve();
      });
    });
    this.#worker.on('error', (error) => this.#end(new ThreadBroken('the commit thread failed', { cause: error })));
    this.#worker.on('message', (message: StartMessage | Response) => this.#receive(message));
  }

  /** Passes all stored rows to `take` in order, then resolves with the state of the whole store. */
  load(take: (rows: RowColumns, marks: LoadMarks) => void): Promise<Opened> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve: () => {}, reject });
      this.#onStart = (message) => {
        if (message.kind === 'rows') {
          take(message.rows, message.marks);
          return;
        }
        this.#onStart = undefined;
        this.#waiting.shift();
        if (message.kind === 'opened') resolve(message.opened);
        else reject(new ThreadFailedToOpen(message.failure));
      };
    });
  }

  ask(request: Request): Promise<DoneResponse> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage(request);
    });
  }

  /** Resolves when the thread has ended and released the lock of the file. */
  async close(): Promise<void> {
    if (this.#ended === undefined) await this.ask({ kind: 'close' }).catch(() => this.#worker.terminate());
    await this.#exited;
  }

  #receive(message: StartMessage | Response): void {
    if (message.kind === 'rows' || message.kind === 'opened' || message.kind === 'failed') {
      invariant(this.#onStart !== undefined, 'the thread starts once');
      this.#onStart(message);
      return;
    }
    const waiting = this.#waiting.shift();
    invariant(waiting !== undefined, 'the thread answers only pending requests');
    if (message.kind === 'done') waiting.resolve(message);
    else if (message.kind === 'refused') waiting.reject(new ThreadRefused(message.message));
    else if (message.kind === 'replaced') waiting.reject(new ThreadFilesReplaced(message.message));
    else waiting.reject(new ThreadBroken(message.message));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(this.#ended);
  }
}
