const LONG_FORM = 0x80;
const LENGTH_BYTES_MAX = 4;

/** A value in DER (ITU-T X.690). */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and length: what a signature covers. */
  readonly whole: Buffer;
}

/**
 * Returns the values that stand one after the other; nothing when a length does not fit. A caller that knows how many it
 * wants says so: a user may send half a million of two bytes.
 */
export function derValues(bytes: Buffer, wanted = Number.POSITIVE_INFINITY): readonly DerValue[] | undefined {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length && values.length < wanted; ) {
    const value = derValueAt(bytes, at);
    if (value === undefined) return undefined;
    values.push(value);
    at += value.whole.length;
  }
  return values;
}

function derValueAt(bytes: Buffer, at: number): DerValue | undefined {
  const [tag, first] = bytes.subarray(at, at + 2);
  if (tag === undefined || first === undefined) return undefined;
  const lengthBytes = first < LONG_FORM ? 0 : first - LONG_FORM;
  const start = at + 2 + lengthBytes;
  // DER has no lengths that are only known at the end.
  if (first === LONG_FORM || lengthBytes > LENGTH_BYTES_MAX || start > bytes.length) return undefined;
  const end = start + (lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes));
  if (end > bytes.length) return undefined;
  return { tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) };
}
