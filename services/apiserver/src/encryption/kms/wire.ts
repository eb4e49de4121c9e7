/** The few parts of the protobuf wire format that the messages of KMS v2 need: texts, bytes, and maps of them. */
export type WireValue = string | Buffer | ReadonlyMap<string, Buffer>;

/** Fields by number. Empty ones are left out. */
export function encodeFields(fields: readonly (readonly [number, WireValue])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === 'string' || Buffer.isBuffer(value)) return encodeField(number, Buffer.from(value));
      return [...value].flatMap(([key, each]) =>
        encodeField(
          number,
          encodeFields([
            [1, key],
            [2, each],
          ]),
        ),
      );
    }),
  );
}

const LENGTH_DELIMITED = 2;

function encodeField(number: number, bytes: Buffer): readonly Buffer[] {
  return bytes.length === 0 ? [] : [varint(number * 8 + LENGTH_DELIMITED), varint(bytes.length), bytes];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** Reads the length-delimited fields of a message and passes over all others. */
export class WireFields {
  readonly #fields = new Map<number, Buffer[]>();

  /** Throws when the bytes are not a message. */
  constructor(bytes: Buffer) {
    const reader = new Reader(bytes);
    while (!reader.isDone) {
      const tag = reader.varint();
      const value = reader.value(tag % 8);
      if (value === undefined) continue;
      const number = Math.floor(tag / 8);
      const known = this.#fields.get(number);
      if (known === undefined) this.#fields.set(number, [value]);
      else known.push(value);
    }
  }

  /** The last value counts, as protobuf demands. */
  bytes(number: number): Buffer {
    return this.#fields.get(number)?.at(-1) ?? Buffer.alloc(0);
  }

  text(number: number): string {
    return this.bytes(number).toString('utf8');
  }

  map(number: number): ReadonlyMap<string, Buffer> {
    const entries = (this.#fields.get(number) ?? []).map((each) => new WireFields(each));
    return new Map(entries.map((entry) => [entry.text(1), entry.bytes(2)]));
  }
}

const VARINT_BYTES_MAX = 10;
/** Bytes of the types that have a fixed length. */
const FIXED_BYTES: ReadonlyMap<number, number> = new Map([
  [1, 8],
  [5, 4],
]);

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new Error('the message ends too early');
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new Error('the message holds a number that is too large');
  }

  /** `undefined` for a type that is passed over. */
  value(wireType: number): Buffer | undefined {
    if (wireType === LENGTH_DELIMITED) return this.#take(this.varint());
    if (wireType === 0) {
      this.varint();
      return undefined;
    }
    const length = FIXED_BYTES.get(wireType);
    if (length === undefined) throw new Error(`the message has the unknown wire type ${wireType}`);
    this.#take(length);
    return undefined;
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Error('the message ends too early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
