import assert from 'node:assert/strict';

/** The fields of a message, by number. */
export type Message = ReadonlyMap<number, readonly (Uint8Array | number)[]>;

export function read(bytes: Uint8Array): Message {
  const fields = new Map<number, (Uint8Array | number)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const valueOf = (wireType: number): Uint8Array | number => {
    if (wireType === 0) return varint();
    const length = wireType === 1 ? 8 : varint();
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = valueOf(tag & 7);
    fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), value]);
  }
  return fields;
}

export const all = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).map((bytes) => read(bytes as Uint8Array));
export const texts = (message: Message, field: number): string[] =>
  (message.get(field) ?? []).map((bytes) => Buffer.from(bytes as Uint8Array).toString());

/** The first message on a path of field numbers. */
export function on(message: Message, ...path: readonly number[]): Message {
  return path.reduce<Message>((inner, field) => all(inner, field)[0] ?? new Map(), message);
}

/** The value of an entry of a message of names. */
export function entry(map: Message, name: string, entries = 1): Message {
  const found = all(map, entries).find((each) => texts(each, 1)[0] === name);
  assert.ok(found, name);
  return on(found, 2);
}
