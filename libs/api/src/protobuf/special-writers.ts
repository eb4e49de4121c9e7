import { parseTime } from '@holdfast/platform';
import { nanosOf } from './durations.ts';
import { WIRE_BYTES } from './wire.ts';
import type { WireWriter } from './wire-writer.ts';

/** Writes the content of a message; `undefined` is the zero value. */
export type WriteContent = (writer: WireWriter, value: unknown, writeMessage: WriteMessage) => void;
export type WriteMessage = (writer: WireWriter, message: string, value: object) => void;

/** The counterparts of `SPECIAL_MESSAGES`. Fields are written from the last to the first. */
export const SPECIAL_WRITERS: ReadonlyMap<string, WriteContent> = new Map<string, WriteContent>([
  ['meta.v1.Time', (writer, value) => writeTime(writer, value, 0)],
  ['meta.v1.MicroTime', (writer, value) => writeTime(writer, value, nanosOfText(value))],
  ['meta.v1.Duration', (writer, value) => writeInteger(writer, 1, nanosOf(textOf(value)))],
  ['meta.v1.FieldsV1', writeRawJson],
  ['runtime.RawExtension', writeGoJson],
  ['resource.Quantity', (writer, value) => writeText(writer, 1, value === undefined ? '0' : textOf(value))],
  ['intstr.IntOrString', writeIntOrString],
  ['authentication.v1.ExtraValue', (writer, value) => writeTexts(writer, 1, value)],
  ['authorization.v1.ExtraValue', (writer, value) => writeTexts(writer, 1, value)],
  ['certificates.v1.ExtraValue', (writer, value) => writeTexts(writer, 1, value)],
  ['meta.v1.Verbs', (writer, value) => writeTexts(writer, 1, value)],
  ['apiextensions.v1.JSON', writeRawJson],
  ['apiextensions.v1.JSONSchemaPropsOrArray', writeSchemaOrSchemas],
  ['apiextensions.v1.JSONSchemaPropsOrBool', writeSchemaOrFlag],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', writeSchemaOrTexts],
]);

/** Lists in Go: an absent list is not written, not even its tag. */
export const LIST_MESSAGES: ReadonlySet<string> = new Set([
  'authentication.v1.ExtraValue',
  'authorization.v1.ExtraValue',
  'certificates.v1.ExtraValue',
  'meta.v1.Verbs',
]);

/** Formats a number as JSON does. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

function writeInteger(writer: WireWriter, field: number, value: number): void {
  writer.varint(value);
  writer.varint(field * 8);
}

function writeText(writer: WireWriter, field: number, value: string): void {
  writer.text(value);
  writer.varint(field * 8 + WIRE_BYTES);
}

function writeTexts(writer: WireWriter, field: number, values: unknown): void {
  if (!Array.isArray(values)) return;
  for (let i = values.length - 1; i >= 0; i--) writeText(writer, field, textOf(values[i]));
}

const ZERO_TIME = '0001-01-01T00:00:00Z';

/** An absent time is an empty message. */
function writeTime(writer: WireWriter, value: unknown, nanos: number): void {
  const epochMs = typeof value === 'string' && value !== ZERO_TIME ? parseTime(value) : undefined;
  if (epochMs === undefined) return;
  writeInteger(writer, 2, nanos);
  writeInteger(writer, 1, Math.floor(epochMs / 1000));
}

/** Whole microseconds, as nanoseconds. */
function nanosOfText(value: unknown): number {
  const fraction = typeof value === 'string' ? /\.(\d{1,6})/.exec(value)?.[1] : undefined;
  return fraction === undefined ? 0 : Number(fraction.padEnd(6, '0')) * 1000;
}

const GO_ESCAPED = /[<>&\u2028\u2029]/g;

/** Writes what Go's JSON encoder writes, with HTML characters escaped: clients compare these bytes with their own. */
function writeGoJson(writer: WireWriter, value: unknown): void {
  if (value === undefined) return;
  const text = JSON.stringify(value);
  const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  writeText(writer, 1, text.replace(GO_ESCAPED, escape));
}

function writeRawJson(writer: WireWriter, value: unknown): void {
  if (value !== undefined) writeText(writer, 1, JSON.stringify(value));
}

const IS_NUMBER = 0;
const IS_TEXT = 1;

function writeIntOrString(writer: WireWriter, value: unknown): void {
  const isText = typeof value === 'string';
  writeText(writer, 3, isText ? value : '');
  writeInteger(writer, 2, typeof value === 'number' ? value : 0);
  writeInteger(writer, 1, isText ? IS_TEXT : IS_NUMBER);
}

const SCHEMA = 'apiextensions.v1.JSONSchemaProps';

function writeSchema(writer: WireWriter, field: number, value: unknown, writeMessage: WriteMessage): void {
  const before = writer.length;
  if (typeof value === 'object' && value !== null) writeMessage(writer, SCHEMA, value);
  writer.close(field, before);
}

function writeSchemaOrFlag(writer: WireWriter, value: unknown, writeMessage: WriteMessage): void {
  if (typeof value === 'object' && value !== null) writeSchema(writer, 2, value, writeMessage);
  writeInteger(writer, 1, value === false || value === undefined ? 0 : 1);
}

function writeSchemaOrSchemas(writer: WireWriter, value: unknown, writeMessage: WriteMessage): void {
  if (!Array.isArray(value)) return writeSchema(writer, 1, value, writeMessage);
  for (let i = value.length - 1; i >= 0; i--) writeSchema(writer, 2, value[i], writeMessage);
}

function writeSchemaOrTexts(writer: WireWriter, value: unknown, writeMessage: WriteMessage): void {
  if (Array.isArray(value)) writeTexts(writer, 2, value);
  else writeSchema(writer, 1, value, writeMessage);
}
