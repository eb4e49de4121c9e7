/** The front reports what a client took once it is as much as this. Less may always be on its way: nobody would report that it was taken. */
export const RECEIPT_BYTES = 32 * 1024;
/** Bytes that may be on their way to a client of whom nothing is known. */
const FIRST_BYTES = 128 * 1024;
/** And to one that takes what it is sent: enough that a long list flows and nobody waits for receipts. */
const MOST_BYTES = 512 * 1024;

/**
 * What all long answers together may have on their way. Each has an equal part of it; while those that came before hold more than is left,
 * the others go on receipt by receipt, so nobody waits for those who do not read.
 */
export class AnswerShare {
  readonly #most: number;
  #open = 0;
  #onTheWay = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Of one answer. */
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

/** How much of an answer may leave while the client has not taken what left before. Whoever takes much is sent more at once. */
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

  /** Nobody takes anything any more. */
  close(): void {
    this.isClosed = true;
    this.done();
    this.#wakeUp();
  }

  /** Nothing more is sent. */
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

  /** What one receipt covers always leaves, however many answers there are. */
  #hasRoom(): boolean {
    return this.#onTheWay < Math.max(RECEIPT_BYTES, Math.min(this.#size, this.#share.part));
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
