/** Writes protobuf messages: just the wire types that the OpenAPI documents need. */
export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];

  text(field: number, value: string | undefined): this {
    if (value === undefined || value === '') return this;
    return this.presentText(field, value);
  }

  /** Written even when it is empty, where presence means something; `presentFlag` and `double` too. */
  presentText(field: number, value: string): this {
    return this.delimited(field, ENCODER.encode(value));
  }

  flag(field: number, value: boolean | undefined): this {
    return value === true ? this.presentFlag(field, true) : this;
  }

  presentFlag(field: number, value: boolean): this {
    this.#parts.push(varint(field << 3), varint(value ? 1 : 0));
    return this;
  }

  /** A non-negative integer. */
  integer(field: number, value: number): this {
    this.#parts.push(varint(field << 3), varint(value));
    return this;
  }

  double(field: number, value: number): this {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value, true);
    this.#parts.push(varint((field << 3) | FIXED_64), bytes);
    return this;
  }

  /** An embedded message; written even when it is empty, because presence can mean something. */
  message(field: number, fill: (writer: ProtobufWriter) => void): this {
    const inner = new ProtobufWriter();
    fill(inner);
    return this.delimited(field, inner.bytes());
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  /** An encoded message. */
  delimited(field: number, bytes: Uint8Array): this {
    this.#parts.push(varint((field << 3) | LENGTH_DELIMITED), varint(bytes.byteLength), bytes);
    return this;
  }
}

const ENCODER = new TextEncoder();
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;

/** Tags and most lengths are of one byte: these are made once. */
const SHORT = Array.from({ length: 0x80 }, (_, value) => Uint8Array.of(value));

function varint(value: number): Uint8Array {
  const known = SHORT[value];
  if (known !== undefined) return known;
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
