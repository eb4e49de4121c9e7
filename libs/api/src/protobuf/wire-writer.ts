import { WIRE_BYTES } from './wire.ts';

/** Initial buffer size: most objects fit, or fit after few doublings. */
const ROOM_BYTES = 2_048;
/** A writer that is used again does not keep a larger buffer. */
const KEPT_ROOM_BYTES_MAX = 64 * 1024;
const SHORT_CHARS = 32;
/** Largest varint of two bytes. */
const SHORT_VARINT_MAX = 0x3fff;
/** Largest number of which bits can be shifted. */
const MIDDLE_VARINT_MAX = 0x7fffffff;

/**
 * Writes the protobuf wire format from end to start: when the length of a message must be written, the message is
 * already there. The last written bytes come first.
 */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(ROOM_BYTES);
  #at = ROOM_BYTES;

  /** Bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** Returns a copy, so that the result does not keep the larger buffer. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#at));
  }

  /**
   * Returns a copy for long-term storage in its own memory: a slice of the shared pool would keep everything around it.
   */
  finishToKeep(): Buffer {
    const kept = Buffer.allocUnsafeSlow(this.length);
    this.#bytes.copy(kept, 0, this.#at);
    return kept;
  }

  /** Drops what is written. A large buffer is not kept for later. */
  begin(): void {
    if (this.#bytes.length > KEPT_ROOM_BYTES_MAX) this.#bytes = Buffer.allocUnsafe(ROOM_BYTES);
    this.#at = this.#bytes.length;
  }

  /** Returns what is written, without a copy: valid until `begin`. */
  lend(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  /** Negative numbers take 64 bits. */
  varint(value: number): void {
    if (value < 0 || value > SHORT_VARINT_MAX) return this.#longVarint(value);
    if (value < 0x80) {
      this.#take(1);
      this.#bytes[this.#at] = value;
      return;
    }
    this.#take(2);
    this.#bytes[this.#at] = (value & 0x7f) | 0x80;
    this.#bytes[this.#at + 1] = value >> 7;
  }

  double(value: number): void {
    this.#take(8);
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Writes text with its length. */
  text(value: string): void {
    if (value.length <= SHORT_CHARS && this.#shortText(value)) return;
    const length = Buffer.byteLength(value);
    this.#take(length);
    this.#bytes.write(value, this.#at, length);
    this.varint(length);
  }

  /** Writes bytes with their length. */
  bytes(value: Uint8Array): void {
    this.#take(value.length);
    this.#bytes.set(value, this.#at);
    this.varint(value.length);
  }

  /** Closes the message that began at `lengthBefore`: writes its length and tag. */
  close(field: number, lengthBefore: number): void {
    this.varint(this.length - lengthBefore);
    this.varint(field * 8 + WIRE_BYTES);
  }

  /** Returns false and writes nothing when the text is not pure ASCII. */
  #shortText(value: string): boolean {
    const { length } = value;
    this.#take(length + 1);
    const bytes = this.#bytes;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) {
        this.#at += length + 1;
        return false;
      }
      bytes[this.#at + 1 + i] = code;
    }
    bytes[this.#at] = length;
    return true;
  }

  #longVarint(value: number): void {
    if (value > 0 && value <= MIDDLE_VARINT_MAX) return this.#middleVarint(value);
    let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
    const groups: number[] = [];
    for (; rest > 0x7fn; rest >>= 7n) groups.push(Number(rest & 0x7fn) | 0x80);
    groups.push(Number(rest));
    this.#take(groups.length);
    this.#bytes.set(groups, this.#at);
  }

  /** Every second until 2038 is one. */
  #middleVarint(value: number): void {
    let length = 1;
    for (let rest = value >> 7; rest > 0; rest >>= 7) length += 1;
    this.#take(length);
    let rest = value;
    for (let i = 0; i < length - 1; i++, rest >>= 7) this.#bytes[this.#at + i] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at + length - 1] = rest;
  }

  #take(length: number): void {
    if (this.#at < length) this.#grow(length);
    this.#at -= length;
  }

  #grow(length: number): void {
    const written = this.length;
    let room = this.#bytes.length * 2;
    while (room < written + length) room *= 2;
    const bytes = Buffer.allocUnsafe(room);
    this.#bytes.copy(bytes, room - written, this.#at);
    this.#bytes = bytes;
    this.#at = room - written;
  }
}
