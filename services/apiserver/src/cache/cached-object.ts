import type { KubeObject } from '@holdfast/api';
import { copyJson, deepFreeze } from '@holdfast/machinery';
import { parseKey, type StoreKey } from '@holdfast/store';
import { parsedBudget, parsedBytes } from './parsed-budget.ts';
import { metadataAt, withoutRevision, withRevision } from './stored-json.ts';

/**
 * One state of one object: its stored text, parsed at most once and then frozen, encoded at most once. All readers
 * share this instance: GET, LIST, every watcher, admission.
 */
export class CachedObject {
  readonly key: StoreKey;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  /** Length of the stored text: about how much memory its content takes. */
  readonly size: number;
  /** Dropped once the bytes are there: one copy of the content is enough. */
  #stored: string | undefined;
  #bytes: Buffer | undefined;
  #metadataAt: number | undefined;
  #parsed: KubeObject | undefined;
  /** In protobuf, on demand. */
  #encoded: Buffer | undefined;
  /** The writer's value of the text, so that it need not be parsed again. */
  #written: KubeObject | undefined;
  /** About what the value takes, while there is one. */
  #valueBytes = 0;

  /** `written` must equal `stored`; this instance owns it from now on. */
  constructor(key: StoreKey, stored: string, revision: number, written?: KubeObject) {
    const parts = parseKey(key);
    this.key = key;
    this.namespace = parts.namespace;
    this.name = parts.name;
    this.revision = revision;
    this.size = stored.length;
    this.#stored = stored;
    this.#written = written;
    if (written !== undefined) this.#keepsValue(stored);
  }

  /** Deep-frozen, with `metadata.resourceVersion`. */
  get object(): KubeObject {
    if (this.#parsed === undefined) {
      if (this.#written === undefined) this.#keepsValue(this.#stored);
      this.#parsed = deepFreeze(this.#written === undefined ? this.#parse() : this.#asRead(this.#written));
      this.#written = undefined;
    }
    return this.#parsed;
  }

  /** As in the store: without `metadata.resourceVersion`. */
  get stored(): string {
    return this.#stored ?? withoutRevision(this.#text());
  }

  /** UTF-8 of the JSON that clients get: with `metadata.resourceVersion`. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.#text());
    this.#stored = undefined;
    return this.#bytes;
  }

  /** The position of `"metadata":` in the bytes: a list has kind and apiVersion once, for all its items. */
  get metadataAt(): number {
    this.#metadataAt ??= metadataAt(this.bytes);
    return this.#metadataAt;
  }

  /** Caches the result of `encode`. The value parsed for it is not kept. */
  encoded(encode: (object: KubeObject) => Buffer): Buffer {
    this.#encoded ??= encode(
      this.#parsed ?? (this.#written === undefined ? this.#parse() : this.#asRead(this.#written)),
    );
    return this.#encoded;
  }

  /** The same content at another revision: what a watcher gets when an object leaves its selection. */
  atRevision(revision: number): CachedObject {
    return new CachedObject(this.key, this.stored, revision);
  }

  /** A store read returned it again: its text need not be derived from the bytes. */
  recall(stored: string): void {
    this.#stored ??= stored;
  }

  /** Forgets what can be made again. For states that are over: only their text, or their bytes, are worth keeping. */
  rest(): void {
    if (this.#bytes !== undefined) this.#stored = undefined;
    this.#parsed = undefined;
    this.#written = undefined;
    this.#encoded = undefined;
  }

  /** About what the kept value takes; 0 when none is kept. */
  get valueBytes(): number {
    return this.#parsed === undefined && this.#written === undefined ? 0 : this.#valueBytes;
  }

  /** The value can be made again. */
  forgetValue(): void {
    this.#parsed = undefined;
    this.#written = undefined;
  }

  /** Drops the writer's value when nothing has used it by now. */
  doze(): void {
    this.#written = undefined;
  }

  /** A copy that the caller may change. */
  mutableCopy(): KubeObject {
    return this.#parsed === undefined ? this.#parse() : copyJson(this.#parsed);
  }

  #keepsValue(text: string | undefined): void {
    if (this.#valueBytes === 0) this.#valueBytes = parsedBytes(text ?? this.#text());
    parsedBudget.keep(this.#valueBytes);
  }

  #parse(): KubeObject {
    return JSON.parse(this.#text()) as KubeObject;
  }

  /** The writer knew the revision before; parts may be shared with the state before, which is frozen. */
  #asRead(written: KubeObject): KubeObject {
    return { ...written, metadata: { ...written.metadata, resourceVersion: String(this.revision) } };
  }

  #text(): string {
    if (this.#stored !== undefined) return withRevision(this.#stored, this.revision);
    return this.#bytes?.toString() ?? '';
  }
}
