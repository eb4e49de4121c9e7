import { readAll, readBytes, readInteger, readTexts } from './wire-fields.ts';

export type DecodeMessage = (message: string, bytes: Uint8Array) => unknown;

const SCHEMA = 'apiextensions.v1.JSONSchemaProps';

/** For custom kinds: a value that is a schema or another JSON type. */
export function readSchemaOrFlag(bytes: Uint8Array, decode: DecodeMessage): unknown {
  const schema = readBytes(bytes, 2);
  return schema === undefined ? (readInteger(bytes, 1) ?? 0n) !== 0n : decode(SCHEMA, schema);
}

export function readSchemaOrSchemas(bytes: Uint8Array, decode: DecodeMessage): unknown {
  const schema = readBytes(bytes, 1);
  return schema === undefined ? readAll(bytes, 2).map((each) => decode(SCHEMA, each)) : decode(SCHEMA, schema);
}

export function readSchemaOrTexts(bytes: Uint8Array, decode: DecodeMessage): unknown {
  const schema = readBytes(bytes, 1);
  return schema === undefined ? readTexts(bytes, 2) : decode(SCHEMA, schema);
}
