/** The front reports consumed bytes in units of this size. Fewer may always be in flight: nobody would report them. */
export const RECEIPT_BYTES = 32 * 1024;
/** Bytes that may be on their way to a client of whom nothing is known. */
const FIRST_BYTES = 128 * 1024;
/** And to a client that reads: enough that neither thread waits for the other during a long list. */
const MOST_BYTES = 2 * 1024 * 1024;

/**
 * The budget of all long responses in flight, divided equally. While earlier ones hold more than is left, the others
 * continue receipt by receipt, so none waits for clients that do not read.
 */
export class AnswerShare {
  readonly #most: number;
  #open = 0;
  #onTheWay = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The share of one response. */
  get part(): number {
    return this.#onTheWay >= this.#most ? 0 : this.#most / Math.max(1, this.#open);
  }

  join(): void {
    this.#open += 1;
  }

  leave(): void {
    this.#open -= 1;
  }

  moved(bytes: number): void {
    this.#onTheWay += bytes;
  }
}

/** Limits how much of a response may be in flight before the client reads it. A faster reader gets a larger window. */
export class ChunkWindow {
  isClosed = false;
  readonly #share: AnswerShare;
  #hasPart = false;
  #isDone = false;
  #size = FIRST_BYTES;
  #onTheWay = 0;
  #wake: (() => void) | undefined;

  constructor(share: AnswerShare) {
    this.#share = share;
  }

  /** False when the sender should wait for `room`. */
  sent(bytes: number): boolean {
    if (!this.#hasPart && !this.#isDone) {
      this.#hasPart = true;
      this.#share.join();
    }
    this.#move(bytes);
    return this.#hasRoom();
  }

  taken(bytes: number): void {
    this.#move(-bytes);
    this.#size = Math.min(this.#size + bytes, MOST_BYTES);
    if (this.#hasRoom()) this.#wakeUp();
  }

  /** The client reads no more. */
  close(): void {
    this.isClosed = true;
    this.done();
    this.#wakeUp();
  }

  /** No more data follows. */
  done(): void {
    this.#isDone = true;
    if (!this.#hasPart) return;
    this.#share.moved(-this.#onTheWay);
    this.#hasPart = false;
    this.#share.leave();
  }

  room(): Promise<void> {
    return new Promise((resolve) => this.whenRoom(resolve));
  }

  whenRoom(run: () => void): void {
    if (this.isClosed || this.#hasRoom()) run();
    else this.#wake = run;
  }

  #move(bytes: number): void {
    this.#onTheWay += bytes;
    if (this.#hasPart) this.#share.moved(bytes);
  }

  /** One receipt unit may always be sent, however many responses there are. */
  #hasRoom(): boolean {
    return this.#onTheWay < Math.max(RECEIPT_BYTES, Math.min(this.#size, this.#share.part));
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
