import type { WatchEvent, WatchFrame } from '@holdfast/client';
import type { CachedObject } from './cached-object.ts';

export type WatchType = Exclude<WatchEvent['type'], 'ERROR'>;

/** One committed change of one object. `previous` is absent for a create. */
export class CacheEvent {
  readonly kind: 'created' | 'updated' | 'deleted';
  readonly current: CachedObject;
  readonly previous: CachedObject | undefined;
  readonly #frames = new Map<WatchType, WatchFrame>();
  /** In another encoding; few watchers use it. */
  #encoded: Map<WatchType, WatchFrame> | undefined;

  constructor(kind: CacheEvent['kind'], current: CachedObject, previous: CachedObject | undefined) {
    this.kind = kind;
    this.current = current;
    this.previous = previous;
  }

  get revision(): number {
    return this.current.revision;
  }

  /** Everybody who keeps up has seen it: what was made for them is dropped. */
  rest(): void {
    this.#frames.clear();
    this.#encoded = undefined;
    this.previous?.rest();
    if (this.kind === 'deleted') this.current.rest();
    else this.current.forgetBytes();
  }

  /** By now all immediate consumers of new objects have read it. */
  doze(): void {
    this.current.doze();
  }

  /** The frame of this change, encoded once for all watchers. */
  frame(type: WatchType): WatchFrame {
    const known = this.#frames.get(type);
    if (known !== undefined) return known;
    const frame = objectFrame(type, this.current);
    this.#frames.set(type, frame);
    return frame;
  }

  /** The same in protobuf, made once for all watchers that want that. */
  encodedFrame(type: WatchType, make: () => WatchFrame): WatchFrame {
    this.#encoded ??= new Map();
    const known = this.#encoded.get(type);
    if (known !== undefined) return known;
    const frame = make();
    this.#encoded.set(type, frame);
    return frame;
  }
}

const FRAME_END = Buffer.from('}\n');

/** A frame with one object; bytes and value are made on first use. */
export function objectFrame(type: WatchType, object: CachedObject): WatchFrame {
  let bytes: Uint8Array | undefined;
  let value: WatchEvent | undefined;
  return {
    bytes: () => (bytes ??= Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object.lend(), FRAME_END])),
    value: () => (value ??= Object.freeze({ type, object: object.object })),
  };
}

/** A frame around anything else: bookmarks, errors, tables. */
export function plainFrame(event: WatchEvent): WatchFrame {
  let bytes: Uint8Array | undefined;
  return {
    bytes: () => (bytes ??= Buffer.from(`${JSON.stringify(event)}\n`)),
    value: () => event,
  };
}
