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

export function readText(bytes: Uint8Array, field: number): string | undefined {
  const raw = readBytes(bytes, field);
  return raw === undefined ? undefined : decodeText(raw);
}

export const readTexts = (bytes: Uint8Array, field = 1): readonly string[] =>
  readAll(bytes, field).map((each) => decodeText(each));

export function readAll(bytes: Uint8Array, field: number): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  walk(bytes, (number, value) => {
    if (number === field && value instanceof Uint8Array) found.push(value);
  });
  return found;
}

export function readInteger(bytes: Uint8Array, field: number): bigint | undefined {
  let found: bigint | undefined;
  walk(bytes, (number, value) => {
    if (number === field && typeof value === 'bigint') found = BigInt.asIntN(64, value);
  });
  return found;
}

export function readBytes(bytes: Uint8Array, field: number): Uint8Array | undefined {
  let found: Uint8Array | undefined;
  walk(bytes, (number, value) => {
    if (number === field && value instanceof Uint8Array) found = value;
  });
  return found;
}

function walk(bytes: Uint8Array, visit: (number: number, value: bigint | Uint8Array) => void): void {
  const reader = new WireReader(bytes);
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (wireType === WIRE_VARINT) visit(number, reader.varint());
    else if (wireType === WIRE_BYTES) visit(number, reader.bytes());
    else reader.skip(wireType);
  }
}
