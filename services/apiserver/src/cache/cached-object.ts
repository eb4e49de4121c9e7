import type { KubeObject } from '@holdfast/api';
import { copyJson, deepFreeze } from '@holdfast/machinery';
import { parseKey, type StoreKey } from '@holdfast/store';
import { metadataAt, withoutRevision, withRevision } from './stored-json.ts';

/**
 * One state of one object: its stored text, parsed at most once and then frozen, encoded at most once. Everybody who reads
 * the object shares this instance: GET, LIST, every watcher, admission.
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

  constructor(key: StoreKey, stored: string, revision: number) {
    const parts = parseKey(key);
    this.key = key;
    this.namespace = parts.namespace;
    this.name = parts.name;
    this.revision = revision;
    this.size = stored.length;
    this.#stored = stored;
  }

  /** Deep-frozen, with `metadata.resourceVersion`. */
  get object(): KubeObject {
    this.#parsed ??= deepFreeze(this.mutableCopy());
    return this.#parsed;
  }

  /** As it is in the store: without `metadata.resourceVersion`. */
  get stored(): string {
    return this.#stored ?? withoutRevision(this.#text());
  }

  /** UTF-8 of the JSON that clients get: with `metadata.resourceVersion`. */
  get bytes(): Buffer {
    if (this.#bytes === undefined) {
      this.#bytes = Buffer.from(this.#text());
      this.#stored = undefined;
    }
    return this.#bytes;
  }

  /** Where in the bytes `"metadata":` begins: a list says kind and apiVersion once, for all its items. */
  get metadataAt(): number {
    this.#metadataAt ??= metadataAt(this.bytes);
    return this.#metadataAt;
  }

  /** The same content at another revision: what a watcher gets when an object leaves its selection. */
  atRevision(revision: number): CachedObject {
    return new CachedObject(this.key, this.stored, revision);
  }

  /** Forgets what can be made again. For states that are over: only their text is worth keeping. */
  rest(): void {
    this.#stored = this.stored;
    this.#bytes = undefined;
    this.#parsed = undefined;
  }

  /** A copy that the caller may change. */
  mutableCopy(): KubeObject {
    return this.#parsed === undefined ? (JSON.parse(this.#text()) as KubeObject) : copyJson(this.#parsed);
  }

  #text(): string {
    if (this.#stored !== undefined) return withRevision(this.#stored, this.revision);
    return this.#bytes?.toString() ?? '';
  }
}
