import { AUDIT_QUEUE_CHARACTERS_MAX, AUDIT_QUEUE_EVENTS_MAX } from '../limits.ts';

interface Waiting {
  readonly text: string;
  readonly settle: ((kept: boolean) => void) | undefined;
}

/** Events that leave together. */
export interface EventBatch {
  readonly texts: readonly string[];
  readonly settle: (kept: boolean) => void;
}

/** Events that wait for a sink, bounded in number and size. */
export class EventQueue {
  #waiting: Waiting[] = [];
  #characters = 0;

  get length(): number {
    return this.#waiting.length;
  }

  /** False: there is no room. An event always fits into an empty queue. */
  add(text: string, settle?: (kept: boolean) => void): boolean {
    const isFull =
      this.#waiting.length >= AUDIT_QUEUE_EVENTS_MAX || this.#characters + text.length > AUDIT_QUEUE_CHARACTERS_MAX;
    if (isFull && this.#waiting.length > 0) return false;
    this.#waiting.push({ text, settle });
    this.#characters += text.length;
    return true;
  }

  /** The oldest events, within both bounds; at least one, when there is one. */
  take(eventsMax: number, charactersMax: number): EventBatch {
    let count = 0;
    let characters = 0;
    for (const { text } of this.#waiting) {
      if (count > 0 && (count >= eventsMax || characters + text.length > charactersMax)) break;
      count += 1;
      characters += text.length;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#characters -= characters;
    return {
      texts: taken.map(({ text }) => text),
      settle: (kept) => {
        for (const { settle } of taken) settle?.(kept);
      },
    };
  }
}
