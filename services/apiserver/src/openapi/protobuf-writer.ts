/** Writes protobuf messages: just the wire types that the OpenAPI document needs. */
export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];

  text(field: number, value: string | undefined): this {
    if (value === undefined || value === '') return this;
    return this.#delimited(field, new TextEncoder().encode(value));
  }

  flag(field: number, value: boolean | undefined): this {
    if (value === true) this.#parts.push(varint(field << 3), varint(1));
    return this;
  }

  /** An embedded message; written even when it is empty, because presence can mean something. */
  message(field: number, fill: (writer: ProtobufWriter) => void): this {
    const inner = new ProtobufWriter();
    fill(inner);
    return this.#delimited(field, inner.bytes());
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  #delimited(field: number, bytes: Uint8Array): this {
    this.#parts.push(varint((field << 3) | LENGTH_DELIMITED), varint(bytes.byteLength), bytes);
    return this;
  }
}

const LENGTH_DELIMITED = 2;

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
