import { MAGIC } from './magic.ts';
import { WireReader } from './wire.ts';
import { readBytes, readMessage, readText } from './wire-fields.ts';

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
  const envelope = new WireReader(body.subarray(MAGIC.length));
  const type = readMessage(envelope, 1);
  // The first field of each kind is its metadata; that of a deletion is its grace period.
  const isDeletion = readText(type, 2) === 'DeleteOptions';
  const content = readMessage(envelope, 2);
  const place = isDeletion ? 2 : 1;
  if (readBytes(content, place) === undefined) return {};
  const part = readMessage(content, place);
  if (isDeletion) return { preconditions: textsOf(part, { uid: 1, resourceVersion: 2 }) };
  return { metadata: textsOf(part, { name: 1, generateName: 2, uid: 5, resourceVersion: 6 }) };
}

/** Empty texts are absent. */
function textsOf<K extends string>(part: WireReader, fields: Readonly<Record<K, number>>): { [key in K]?: string } {
  const found: { [key in K]?: string } = {};
  for (const name of Object.keys(fields) as K[]) {
    const text = readText(part, fields[name]) ?? '';
    if (text !== '') found[name] = text;
  }
  return found;
}
