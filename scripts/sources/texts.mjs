import { fstatSync, readSync, writeSync } from 'node:fs';
import { decodeHeader, HEADER_BYTES } from './record.mjs';

/** Time-out of a silent helper, even on a busy machine. */
const SILENCE_MS = 10_000;
const LOOK_AGAIN_MS = 1;
/** The check whether it lives is more expensive, so it is rarer. */
const LOOKS_PER_QUESTION = 16;
const NEVER_CHANGES = new Int32Array(new SharedArrayBuffer(4));

/** The helper's output so far, by path. Texts stay in the file until needed. */
export class Texts {
  #descriptor;
  #wanted;
  #helper;
  #places = new Map();
  #end = 0;
  #isComplete = false;
  #header = Buffer.alloc(HEADER_BYTES);

  /** The helper writes to the first file, and looks into the second for what it should do next. */
  constructor({ texts, wanted }, helper) {
    this.#descriptor = texts;
    this.#wanted = wanted;
    this.#helper = helper;
  }

  /** Waits for the helper to come to it; `undefined` when it never does. */
  of(file) {
    const place = this.#find(file);
    if (place === undefined) return undefined;
    if (!this.#waitFor(place.at + place.bytes)) {
      this.#isComplete = true;
      return undefined;
    }
    const text = Buffer.allocUnsafe(place.bytes);
    readSync(this.#descriptor, text, 0, place.bytes, place.at);
    return text.toString(place.encoding);
  }

  #find(file) {
    this.#takeRecords();
    if (!this.#places.has(file) && !this.#isComplete) this.#askFor(file);
    while (!this.#isComplete && !this.#places.has(file)) this.#takeRecord();
    return this.#places.get(file);
  }

  /** A failed request (the disk is full) only means that it is not sooner. */
  #askFor(file) {
    try {
      writeSync(this.#wanted, `${file}\n`);
    } catch {
      // The helper comes to it in its own order, or ends.
    }
  }

  /** All that are there already. */
  #takeRecords() {
    const { size } = fstatSync(this.#descriptor);
    while (!this.#isComplete && size >= this.#end + HEADER_BYTES) this.#takeRecord();
  }

  #takeRecord() {
    const at = this.#end + HEADER_BYTES;
    if (!this.#waitFor(at)) {
      this.#isComplete = true;
      return;
    }
    readSync(this.#descriptor, this.#header, 0, HEADER_BYTES, this.#end);
    const { file, bytes, encoding } = decodeHeader(this.#header);
    this.#places.set(file, { at, bytes, encoding });
    this.#isComplete = file === '';
    this.#end = at + bytes;
  }

  #waitFor(bytes) {
    const giveUpAt = performance.now() + SILENCE_MS;
    for (let looks = 1; !this.#has(bytes); looks++) {
      if (performance.now() > giveUpAt) return false;
      if (looks % LOOKS_PER_QUESTION === 0 && this.#helper.hasEnded()) return this.#has(bytes);
      Atomics.wait(NEVER_CHANGES, 0, 0, LOOK_AGAIN_MS);
    }
    return true;
  }

  #has(bytes) {
    return fstatSync(this.#descriptor).size >= bytes;
  }
}
