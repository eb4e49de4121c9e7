/** Bytes that may be on their way to a client of whom nothing is known. */
const FIRST_BYTES = 128 * 1024;
/** And to one that takes what it is sent: enough that a long list flows and nobody waits for receipts. */
const MOST_BYTES = 512 * 1024;

/** How much of an answer may leave while the client has not taken what left before. Whoever takes much is sent more at once. */
export class ChunkWindow {
  isClosed = false;
  #size = FIRST_BYTES;
  #onTheWay = 0;
  #wake: (() => void) | undefined;

  /** False when the sender should wait for `room`. */
  sent(bytes: number): boolean {
    this.#onTheWay += bytes;
    return this.#hasRoom();
  }

  taken(bytes: number): void {
    this.#onTheWay -= bytes;
    this.#size = Math.min(this.#size + bytes, MOST_BYTES);
    if (this.#hasRoom()) this.#wakeUp();
  }

  /** Nobody takes anything any more. */
  close(): void {
    this.isClosed = true;
    this.#wakeUp();
  }

  room(): Promise<void> {
    return new Promise((resolve) => this.whenRoom(resolve));
  }

  whenRoom(run: () => void): void {
    if (this.isClosed || this.#hasRoom()) run();
    else this.#wake = run;
  }

  #hasRoom(): boolean {
    return this.#onTheWay < this.#size;
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
