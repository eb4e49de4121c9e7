import type { BusMessage } from '../port.ts';

/** Size estimate: a departure holds only the key and the new subject. */
const DEPARTURE_CHARACTERS = 200;

/** The latest changes in revision order, bounded by count and by size. */
export interface Ring {
  /** Ignores a message that is not newer than the newest one: it is a repetition. */
  push(message: BusMessage): void;
  /** Calls `visit` for every kept message above `revision`, oldest first. */
  since(revision: number, visit: (message: BusMessage) => void): void;
  position(): { readonly floor: number; readonly last: number };
  restartAfter(revision: number): void;
}

export function createRing(limits: { readonly messages: number; readonly characters: number }): Ring {
  let kept: (BusMessage | undefined)[] = [];
  /** Slots before this index are empty. The array is cut when they make up half of it. */
  let head = 0;
  let characters = 0;
  let floor: number | undefined;
  let last = 0;

  const dropOldest = (): void => {
    const oldest = kept[head];
    if (oldest === undefined) return;
    characters -= sizeOf(oldest);
    floor = oldest.revision;
    kept[head] = undefined;
    head += 1;
    if (head * 2 > kept.length) {
      kept = kept.slice(head);
      head = 0;
    }
  };

  return {
    push(message) {
      if (message.revision <= last) return;
      floor ??= message.revision - 1;
      last = message.revision;
      kept.push(message);
      characters += sizeOf(message);
      while (kept.length - head > limits.messages || (characters > limits.characters && kept.length > head))
        dropOldest();
    },
    since(revision, visit) {
      for (let i = firstAbove(kept, head, revision); i < kept.length; i++) {
        const message = kept[i];
        if (message !== undefined) visit(message);
      }
    },
    position: () => ({ floor: floor ?? 0, last }),
    restartAfter(revision) {
      kept = [];
      head = 0;
      characters = 0;
      floor = revision;
      last = revision;
    },
  };
}

function sizeOf(message: BusMessage): number {
  return (message.size ?? message.data.length) + (message.departure === undefined ? 0 : DEPARTURE_CHARACTERS);
}

/** Binary search: a subscriber that is nearly current must not scan the whole ring. */
function firstAbove(messages: readonly (BusMessage | undefined)[], from: number, revision: number): number {
  let low = from;
  let high = messages.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((messages[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
