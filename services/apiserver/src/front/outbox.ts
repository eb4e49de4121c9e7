import { afterThisTurn } from '@holdfast/platform/event-loop';
import type { Batch, Carried } from './messages.ts';

/**
 * Messages per transfer. The receiver of the first should not wait for the last, and the other thread should begin
 * while this one continues: with 32 the clients of a server synchronize, and its threads wait for each other.
 */
const MESSAGES_AT_ONCE = 8;

export type Post<M> = (batch: Batch<M>, moved: ArrayBuffer[]) => void;

/**
 * Messages to the other thread, one passing of the border for what gathers in a turn of the event loop. Their bytes are copied side by side
 * into one buffer that changes hands; the same bytes for many, as a watch event for all its watchers, are copied once.
 */
export class Outbox<M extends Carried> {
  readonly #post: Post<M>;
  #messages: M[] = [];
  #parts: Uint8Array[] = [];
  #length = 0;
  #last: { readonly bytes: Uint8Array; readonly at: number } | undefined;
  #moved: ArrayBuffer[] = [];
  #isPlanned = false;

  constructor(post: Post<M>) {
    this.#post = post;
  }

  push(message: M, bytes?: Uint8Array): void {
    if (bytes !== undefined) this.#carry(message, bytes);
    this.#messages.push(message);
    if (this.#messages.length >= MESSAGES_AT_ONCE) this.flush();
    else if (!this.#isPlanned) {
      this.#isPlanned = true;
      afterThisTurn(() => {
        this.#isPlanned = false;
        this.flush();
      });
    }
  }

  /** Returns the last pushed message, if it has these very bytes and is not sent yet. */
  lastWith(bytes: Uint8Array): M | undefined {
    const message = this.#messages.at(-1);
    return message?.at !== undefined && this.#last?.bytes === bytes ? message : undefined;
  }

  /** `memory`, which the message speaks of, changes hands. */
  move(message: M, memory: ArrayBuffer): void {
    this.#moved.push(memory);
    this.push(message);
  }

  flush(): void {
    if (this.#messages.length === 0) return;
    const bytes = this.#pack();
    const messages = this.#messages;
    const moved = this.#moved;
    this.#messages = [];
    this.#moved = [];
    if (bytes !== undefined) moved.push(bytes);
    this.#post({ messages, bytes }, moved);
  }

  #carry(message: M, bytes: Uint8Array): void {
    if (this.#last?.bytes !== bytes) {
      this.#last = { bytes, at: this.#length };
      this.#parts.push(bytes);
      this.#length += bytes.length;
    }
    message.at = this.#last.at;
    message.length = bytes.length;
  }

  #pack(): ArrayBuffer | undefined {
    this.#last = undefined;
    if (this.#length === 0) return undefined;
    const packed = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      packed.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#length = 0;
    return packed.buffer;
  }
}

/** The bytes that came with a message. */
export function carried(message: Carried, bytes: ArrayBuffer | undefined): Buffer | undefined {
  const { at, length } = message;
  return at === undefined || bytes === undefined ? undefined : Buffer.from(bytes, at, length);
}
