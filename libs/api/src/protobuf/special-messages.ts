import { formatTime } from '@holdfast/platform';
import { formatDuration } from './durations.ts';
import { type DecodeMessage, readSchemaOrFlag, readSchemaOrSchemas, readSchemaOrTexts } from './schema-messages.ts';
import { WireError } from './wire.ts';
import { decodeText, readBytes, readInteger, readText, readTexts } from './wire-fields.ts';

/**
 * Messages whose JSON is not an object: times, quantities, numbers-or-strings, raw JSON, named lists. `undefined` means
 * that there is nothing to print (the zero value).
 */
export const SPECIAL_MESSAGES: Readonly<Record<string, (bytes: Uint8Array, decode: DecodeMessage) => unknown>> = {
  'meta.v1.Time': (bytes) => readTime(bytes, () => ''),
  'meta.v1.MicroTime': (bytes) => readTime(bytes, formatMicros),
  'meta.v1.Duration': (bytes) => formatDuration(readInteger(bytes, 1) ?? 0n),
  'meta.v1.FieldsV1': readRawJson,
  'runtime.RawExtension': readRawJson,
  'resource.Quantity': (bytes) => readText(bytes, 1),
  'intstr.IntOrString': readIntOrString,
  'authentication.v1.ExtraValue': (bytes) => readTexts(bytes),
  'authorization.v1.ExtraValue': (bytes) => readTexts(bytes),
  'certificates.v1.ExtraValue': (bytes) => readTexts(bytes),
  'meta.v1.Verbs': (bytes) => readTexts(bytes),
  'apiextensions.v1.JSON': readRawJson,
  'apiextensions.v1.JSONSchemaPropsOrArray': readSchemaOrSchemas,
  'apiextensions.v1.JSONSchemaPropsOrBool': readSchemaOrFlag,
  'apiextensions.v1.JSONSchemaPropsOrStringArray': readSchemaOrTexts,
};

function readTime(bytes: Uint8Array, formatFraction: (nanos: number) => string): string | undefined {
  const seconds = readInteger(bytes, 1);
  if (seconds === undefined) return undefined;
  const nanos = readInteger(bytes, 2) ?? 0n;
  if (seconds < YEAR_0 || seconds >= YEAR_10000 || nanos < 0n || nanos >= NANOS_PER_SECOND) {
    throw new WireError(
      'a timestamp cannot be written as JSON: its year has more than four digits, or its nanoseconds are out of range',
    );
  }
  return formatTime(Number(seconds) * 1000).replace('Z', `${formatFraction(Number(nanos))}Z`);
}

const YEAR_0 = -62_167_219_200n;
const YEAR_10000 = 253_402_300_800n;
const NANOS_PER_SECOND = 1_000_000_000n;

const formatMicros = (nanos: number): string => `.${String(Math.floor(nanos / 1000)).padStart(6, '0')}`;

function readRawJson(bytes: Uint8Array): unknown {
  const raw = readBytes(bytes, 1);
  return raw === undefined || raw.length === 0 ? undefined : JSON.parse(decodeText(raw));
}

function readIntOrString(bytes: Uint8Array): string | number | undefined {
  if ((readInteger(bytes, 1) ?? 0n) === 1n) return readText(bytes, 3) ?? '';
  return Number(BigInt.asIntN(32, readInteger(bytes, 2) ?? 0n));
}
