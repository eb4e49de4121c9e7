import { WIRE_BYTES, WIRE_VARINT, WireError, WireReader } from './wire.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Throws `WireError` when the bytes are not valid text. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new WireError('a string is not UTF-8', { cause: error });
  }
}

export function readText(message: WireReader, field: number): string | undefined {
  const raw = readBytes(message, field);
  return raw === undefined ? undefined : decodeText(raw);
}

export const readTexts = (message: WireReader, field = 1): readonly string[] =>
  readAll(message, field).map((each) => decodeText(each));

export function readAll(message: WireReader, field: number): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  walk(message, (number, value) => {
    if (number !== field || !(value instanceof Uint8Array)) return;
    message.count.addEntry(found);
    found.push(value);
  });
  return found;
}

export function readInteger(message: WireReader, field: number): bigint | undefined {
  let found: bigint | undefined;
  walk(message, (number, value) => {
    if (number === field && typeof value === 'bigint') found = BigInt.asIntN(64, value);
  });
  return found;
}

export function readBytes(message: WireReader, field: number): Uint8Array | undefined {
  let found: Uint8Array | undefined;
  walk(message, (number, value) => {
    if (number === field && value instanceof Uint8Array) found = value;
  });
  return found;
}

/** Returns a message inside this one; one without fields when it is absent. */
export const readMessage = (message: WireReader, field: number): WireReader =>
  new WireReader(readBytes(message, field) ?? NOTHING, message.count);

const NOTHING = new Uint8Array();

/** Leaves the message as it is: it can be read for another field. */
function walk(message: WireReader, visit: (number: number, value: bigint | Uint8Array) => void): void {
  const reader = message.again();
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (wireType === WIRE_VARINT) visit(number, reader.varint());
    else if (wireType === WIRE_BYTES) visit(number, reader.bytes());
    else reader.skip(wireType);
  }
}
