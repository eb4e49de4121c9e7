import { WireReader } from './wire.ts';
import { readAll, readBytes, readInteger, readTexts } from './wire-fields.ts';

export type DecodeMessage = (name: string, message: WireReader) => unknown;

const SCHEMA = 'apiextensions.v1.JSONSchemaProps';

/** For custom kinds: a value that is a schema or another JSON type. */
export function readSchemaOrFlag(message: WireReader, decode: DecodeMessage): unknown {
  const schema = readBytes(message, 2);
  if (schema === undefined) return (readInteger(message, 1) ?? 0n) !== 0n;
  return decode(SCHEMA, new WireReader(schema, message.count));
}

export function readSchemaOrSchemas(message: WireReader, decode: DecodeMessage): unknown {
  const schema = readBytes(message, 1);
  const decodeOne = (each: Uint8Array): unknown => decode(SCHEMA, new WireReader(each, message.count));
  return schema === undefined ? readAll(message, 2).map(decodeOne) : decodeOne(schema);
}

export function readSchemaOrTexts(message: WireReader, decode: DecodeMessage): unknown {
  const schema = readBytes(message, 1);
  return schema === undefined ? readTexts(message, 2) : decode(SCHEMA, new WireReader(schema, message.count));
}
