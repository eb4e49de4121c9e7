/** Bytes that may be on their way to a client before it has taken some: enough for a long list to flow, little for one that is deaf. */
const WINDOW_BYTES = 128 * 1024;

/** How much of an answer may leave while the client has not taken what left before. */
export class ChunkWindow {
  isClosed = false;
  #onTheWay = 0;
  #wake: (() => void) | undefined;

  /** False when the sender should wait for `room`. */
  sent(bytes: number): boolean {
    this.#onTheWay += bytes;
    return this.#onTheWay < WINDOW_BYTES;
  }

  taken(bytes: number): void {
    this.#onTheWay -= bytes;
    if (this.#onTheWay < WINDOW_BYTES) this.#wakeUp();
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
    if (this.isClosed || this.#onTheWay < WINDOW_BYTES) run();
    else this.#wake = run;
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
