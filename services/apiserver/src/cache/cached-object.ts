import type { KubeObject } from '@holdfast/api';
import { copyJson, deepFreeze } from '@holdfast/machinery';
import { parseKey, type StoreKey } from '@holdfast/store';
import { moulds } from './moulds.ts';
import { NOWHERE, packedEncodings } from './packed-bytes.ts';
import { parseStored } from './parse-stored.ts';
import { bytesBudget, parsedBudget, parsedBytes } from './parsed-budget.ts';
import { siblings } from './siblings.ts';
import { metadataAt, metadataParts, revisionLength, withRevision } from './stored-json.ts';

/** Bytes that are lent are made here; larger ones have memory of their own. */
const LENT_BYTES_MAX = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(LENT_BYTES_MAX);

/**
 * One state of one object: its stored text, which is the instance that the store holds; parsed at most once and then frozen. Everybody who
 * reads the object shares this instance: GET, LIST, every watcher, admission. What is made of the text is kept within bounds.
 */
export class CachedObject {
  readonly key: StoreKey;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly stored: string;
  #byteLength = 0;
  #bytes: Buffer | undefined;
  #parsed: KubeObject | undefined;
  /** In protobuf, on demand. */
  #encoded: Buffer | undefined;
  #encodedLength = 0;
  /** Where the encoding is packed; nowhere in any other period. */
  #packedAt = NOWHERE;
  #packedIn = 0;
  /** The writer's value of the text, so that it need not be parsed again. */
  #written: KubeObject | undefined;
  /** About what the value takes, while there is one. */
  #valueBytes = 0;

  /** `stored` is without `metadata.resourceVersion`. `written` must be what it says; it is this instance's from now on. */
  constructor(key: StoreKey, stored: string, revision: number, written?: KubeObject) {
    const parts = parseKey(key);
    this.key = key;
    this.namespace = parts.namespace;
    this.name = parts.name;
    this.revision = revision;
    this.stored = stored;
    this.#written = written;
    if (written !== undefined) this.#keepsValue(false);
  }

  /** Length of the stored text: about how much memory its content takes. */
  get size(): number {
    return this.stored.length;
  }

  /** Deep-frozen, with `metadata.resourceVersion`. */
  get object(): KubeObject {
    if (this.#parsed === undefined) {
      const value = this.#written === undefined ? this.#parse() : this.#asRead(this.#written);
      if (this.#written === undefined) this.#keepsValue(Object.isFrozen(value));
      this.#parsed = deepFreeze(siblings.share(value, this.size));
      this.#written = undefined;
    }
    return this.#parsed;
  }

  /** UTF-8 of the JSON that clients get: with `metadata.resourceVersion`. */
  get bytes(): Buffer {
    if (this.#bytes !== undefined) return this.#bytes;
    const bytes = this.makeBytes();
    this.#bytes = bytes;
    // A full budget may drop them at once.
    bytesBudget.keep(bytes.length);
    return bytes;
  }

  /** The same, without keeping them. */
  makeBytes(): Buffer {
    return Buffer.from(this.#text());
  }

  /** The same for one who copies it at once: valid until the next object lends its own. Nothing is kept. */
  lend(): Buffer {
    if (this.#bytes !== undefined) return this.#bytes;
    const length = this.byteLength;
    if (length > LENT_BYTES_MAX) return this.makeBytes();
    scratch.write(this.#text(), 0, length);
    return scratch.subarray(0, length);
  }

  /**
   * Writes the bytes from `metadataAt` on, which takes no other memory. Answers false, and writes nothing, for an object
   * with other characters than ASCII. The caller has checked that there is room.
   */
  writeMetadataOn(target: Buffer, at: number): boolean {
    if (
      this.#bytes !== undefined ||
      this.byteLength !== this.stored.length + revisionLength(this.stored, this.revision)
    )
      return false;
    const [opening, rest] = metadataParts(this.stored, this.revision);
    const written = target.write(opening, at, 'latin1');
    target.write(rest, at + written, 'latin1');
    return true;
  }

  /** Length of `bytes`, without making them. */
  get byteLength(): number {
    if (this.#byteLength === 0)
      this.#byteLength = Buffer.byteLength(this.stored) + revisionLength(this.stored, this.revision);
    return this.#byteLength;
  }

  /** Where in the bytes `"metadata":` begins: a list says kind and apiVersion once, for all its items. */
  get metadataAt(): number {
    return metadataAt(this.stored);
  }

  /** Caches the result of `encode`. The value parsed for it is not kept. */
  encoded(encode: (object: KubeObject) => Buffer): Buffer {
    if (this.#encoded !== undefined) return this.#encoded;
    const content = encode(this.#anyValue());
    this.#encoded = content;
    bytesBudget.keep(content.length);
    return content;
  }

  /**
   * The same for a caller that copies it at once. The object keeps no buffer; short encodings are packed side by side
   * within the budget. The result of `lend` may be valid until its next call only.
   */
  lendEncoded(lend: (object: KubeObject) => Buffer): Buffer {
    if (this.#encoded !== undefined) return this.#encoded;
    if (this.#isPacked) return packedEncodings.at(this.#packedAt, this.#encodedLength);
    const content = lend(this.#anyValue());
    this.#encodedLength = content.length;
    this.#packedAt = packedEncodings.add(content);
    this.#packedIn = packedEncodings.period;
    return content;
  }

  get #isPacked(): boolean {
    return this.#packedAt !== NOWHERE && this.#packedIn === packedEncodings.period;
  }

  /** True when `encoded` costs nothing. */
  get isEncoded(): boolean {
    return this.#encoded !== undefined;
  }

  /** Length of the encoded form when it was made before; 0 when it was not. */
  get encodedLength(): number {
    return this.#encoded?.length ?? this.#encodedLength;
  }

  /** The same content at another revision: what a watcher gets when an object leaves its selection. */
  atRevision(revision: number): CachedObject {
    return new CachedObject(this.key, this.stored, revision);
  }

  /** Forgets what can be made again. For states that are over: only their text is worth keeping. */
  rest(): void {
    this.forgetValue();
    this.forgetBytes();
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

  /** What is kept in the forms that clients get. */
  get keptBytes(): number {
    return (this.#bytes?.length ?? 0) + (this.#encoded?.length ?? 0);
  }

  /** They can be made again. */
  forgetBytes(): void {
    this.#bytes = undefined;
    this.#encoded = undefined;
  }

  /** Lets go of what the writer left, when nobody has asked for it by now. */
  doze(): void {
    this.#written = undefined;
  }

  /** A copy that the caller may change. */
  mutableCopy(): KubeObject {
    return this.#parsed === undefined ? parseStored(this.key, this.#text()) : copyJson(this.#parsed);
  }

  /** What a value from a mould does not share takes about as much as its text. */
  #keepsValue(isMoulded: boolean): void {
    if (this.#valueBytes === 0) this.#valueBytes = isMoulded ? this.size : parsedBytes(this.stored);
    parsedBudget.keep(this.#valueBytes);
  }

  #parse(): KubeObject {
    return parseStored(this.key, this.#text(), (text) => moulds.parse(text));
  }

  #anyValue(): KubeObject {
    return this.#parsed ?? (this.#written === undefined ? this.#parse() : this.#asRead(this.#written));
  }

  /** The writer knew the revision before; parts may be shared with the state before, which is frozen. */
  #asRead(written: KubeObject): KubeObject {
    return { ...written, metadata: { ...written.metadata, resourceVersion: String(this.revision) } };
  }

  #text(): string {
    return withRevision(this.stored, this.revision);
  }
}

/**
 * A state in the form of a version that differs from its stored text. It lives as long as the stored state but outside
 * the cache, where the budget of bytes cannot drop anything. So it keeps no bytes.
 */
export class ConvertedObject extends CachedObject {
  override get bytes(): Buffer {
    return this.makeBytes();
  }
}
