import { WireCount } from './wire-count.ts';

/** Reads the protobuf wire format. Throws `WireError` for invalid input. Never reads past its bytes. */
export class WireReader {
  readonly #bytes: Uint8Array;
  readonly count: WireCount;
  #at = 0;

  constructor(bytes: Uint8Array, count: WireCount = new WireCount()) {
    this.#bytes = bytes;
    this.count = count;
  }

  /** The same message from its start. */
  again(): WireReader {
    return new WireReader(this.#bytes, this.count);
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Field number and wire type of the next field. */
  tag(): { readonly number: number; readonly wireType: number } {
    this.count.spend(1);
    const key = Number(this.varint());
    return { number: Math.floor(key / 8), wireType: key % 8 };
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new WireError('unexpected EOF');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new WireError('integer overflow');
  }

  double(): number {
    const bytes = this.#take(8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
  }

  bytes(): Uint8Array {
    return this.#take(Number(this.varint()));
  }

  /** A message inside this one: its fields count with those around it. */
  message(): WireReader {
    return new WireReader(this.bytes(), this.count);
  }

  skip(wireType: number): void {
    if (wireType === WIRE_VARINT) this.varint();
    else if (wireType === WIRE_BYTES) this.bytes();
    else if (wireType === WIRE_64_BIT) this.#take(8);
    else if (wireType === WIRE_32_BIT) this.#take(4);
    else throw new WireError(`illegal wireType ${wireType}`);
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new WireError('unexpected EOF');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

export const WIRE_VARINT = 0;
export const WIRE_64_BIT = 1;
export const WIRE_BYTES = 2;
export const WIRE_32_BIT = 5;

export class WireError extends Error {
  override readonly name = 'WireError';
}
