import type { BusMessage, ChangeEvent, Departure, SharedChange } from '@holdfast/bus';
import { unreachable } from '@holdfast/platform';
import type { Change, ChangeKind, KeyParts } from '@holdfast/store';
import { type Described, type ReadState, withResourceVersion } from './describe.ts';

/** With tracing on, the id of a write is its span. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Around the object's text in that of a change. */
const FRAME_CHARACTERS = 150;

export interface Placed {
  readonly subject: string;
  readonly previous: number;
}

/** A change as its subscribers see it. Its text is composed for those outside the process, its object read for those inside. */
export class ChangeMessage implements BusMessage, SharedChange {
  readonly subject: string;
  readonly previous: number;
  readonly revision: number;
  readonly departure?: Departure;
  readonly type: ChangeEvent['type'];
  readonly key: string;
  readonly movedTo: undefined;
  readonly trace?: string;
  // Not the change itself: it also contains the previous state, which is no longer needed.
  readonly #storeKey: string;
  readonly #value: string;
  readonly #isHidden: boolean;
  readonly #read: ReadState;

  constructor(change: Change, place: Placed, { described, read, departure }: MessageParts) {
    this.subject = place.subject;
    this.previous = place.previous;
    this.revision = change.revision;
    this.type = eventType(change.kind);
    this.key = keyOf(described.parts);
    this.#storeKey = change.key;
    // The bus keeps messages by the size of what they show.
    this.#value = described.isHidden ? '' : change.value;
    this.#isHidden = described.isHidden;
    this.#read = read;
    if (departure !== undefined) this.departure = departure;
    if (change.writeId !== undefined && TRACEPARENT.test(change.writeId)) this.trace = change.writeId;
  }

  /** A `ChangeEvent`, with the object's text as it is: it is not parsed for this. */
  get data(): string {
    return this.hasObject ? this.#text(`,"object":${withResourceVersion(this.#value, this.revision)}`) : this.brief;
  }

  get brief(): string {
    return this.#text('');
  }

  #text(object: string): string {
    return `{"type":"${this.type}","revision":${this.revision},"key":${JSON.stringify(this.#storeKey)}${object}}`;
  }

  get size(): number {
    return FRAME_CHARACTERS + (this.hasObject ? this.#value.length : 0);
  }

  get shared(): SharedChange {
    return this;
  }

  get hasObject(): boolean {
    return !this.#isHidden;
  }

  object(): unknown {
    if (!this.hasObject) return undefined;
    return this.#read({ key: this.#storeKey, value: this.#value, revision: this.revision });
  }
}

interface MessageParts {
  readonly described: Described;
  readonly read: ReadState;
  readonly departure?: Departure;
}

/** Tells who followed a pod that waited that it has gone to a node. */
export class BindingNotice implements Departure, SharedChange {
  readonly subject: string;
  readonly previous: number;
  readonly movedTo: string;
  readonly type = 'DELETED';
  readonly hasObject = false;
  readonly key: string;
  readonly #storeKey: string;
  readonly #revision: number;

  constructor(change: Pick<Change, 'key' | 'revision'>, parts: KeyParts, place: Placed & { readonly movedTo: string }) {
    this.subject = place.subject;
    this.previous = place.previous;
    this.movedTo = place.movedTo;
    this.key = keyOf(parts);
    this.#storeKey = change.key;
    this.#revision = change.revision;
  }

  get data(): string {
    const { type, movedTo } = this;
    const event: ChangeEvent = { type, revision: this.#revision, key: this.#storeKey, movedTo };
    return JSON.stringify(event);
  }

  get shared(): SharedChange {
    return this;
  }

  object(): unknown {
    return undefined;
  }
}

const keyOf = ({ namespace, name }: KeyParts): string => (namespace === '' ? name : `${namespace}/${name}`);

function eventType(kind: ChangeKind): ChangeEvent['type'] {
  switch (kind) {
    case 'created':
      return 'ADDED';
    case 'updated':
      return 'MODIFIED';
    case 'deleted':
      return 'DELETED';
    default:
      return unreachable(kind);
  }
}
