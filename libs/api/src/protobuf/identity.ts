import { MAGIC } from './magic.ts';
import { readBytes, readText } from './wire-fields.ts';

/** What a request says of the object that it means. */
export interface ProtobufIdentity {
  readonly metadata?: {
    readonly name?: string;
    readonly generateName?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
  /** Only a deletion has them. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Reads the identity in a body, without the tables of all kinds. `undefined` for another encoding. Throws `WireError` for invalid input. */
export function readProtobufIdentity(body: Uint8Array): ProtobufIdentity | undefined {
  if (MAGIC.some((byte, i) => body[i] !== byte)) return undefined;
  const envelope = body.subarray(MAGIC.length);
  const type = readBytes(envelope, 1) ?? NOTHING;
  // The first field of each kind is its metadata; that of a deletion is its grace period.
  const isDeletion = readText(type, 2) === 'DeleteOptions';
  const content = readBytes(envelope, 2) ?? NOTHING;
  const part = readBytes(content, isDeletion ? 2 : 1);
  if (part === undefined) return {};
  if (isDeletion) return { preconditions: textsOf(part, { uid: 1, resourceVersion: 2 }) };
  return { metadata: textsOf(part, { name: 1, generateName: 2, uid: 5, resourceVersion: 6 }) };
}

const NOTHING = new Uint8Array();

/** Empty texts are absent. */
function textsOf<K extends string>(bytes: Uint8Array, fields: Readonly<Record<K, number>>): { [key in K]?: string } {
  const found: { [key in K]?: string } = {};
  for (const name of Object.keys(fields) as K[]) {
    const text = readText(bytes, fields[name]) ?? '';
    if (text !== '') found[name] = text;
  }
  return found;
}
