import { type Json, parseJson } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { formatDuration } from './durations.ts';
import { type DecodeMessage, readSchemaOrFlag, readSchemaOrSchemas, readSchemaOrTexts } from './schema-messages.ts';
import { WireError, type WireReader } from './wire.ts';
import { decodeText, readBytes, readInteger, readText, readTexts } from './wire-fields.ts';

/**
 * Messages whose JSON is not an object: times, quantities, numbers-or-strings, raw JSON, named lists. `undefined` means
 * that there is nothing to print (the zero value).
 */
export const SPECIAL_MESSAGES: Readonly<Record<string, (message: WireReader, decode: DecodeMessage) => unknown>> = {
  'meta.v1.Time': (message) => readTime(message, () => ''),
  'meta.v1.MicroTime': (message) => readTime(message, formatMicros),
  'meta.v1.Duration': (message) => formatDuration(readInteger(message, 1) ?? 0n),
  'meta.v1.FieldsV1': readRawJson,
  'runtime.RawExtension': readRawJson,
  // No text is zero on the wire, but no quantity in JSON.
  'resource.Quantity': (message) => readText(message, 1) || '0',
  'intstr.IntOrString': readIntOrString,
  'authentication.v1.ExtraValue': (message) => readTexts(message),
  'authorization.v1.ExtraValue': (message) => readTexts(message),
  'certificates.v1.ExtraValue': (message) => readTexts(message),
  'meta.v1.Verbs': (message) => readTexts(message),
  'apiextensions.v1.JSON': readRawJson,
  'apiextensions.v1.JSONSchemaPropsOrArray': readSchemaOrSchemas,
  'apiextensions.v1.JSONSchemaPropsOrBool': readSchemaOrFlag,
  'apiextensions.v1.JSONSchemaPropsOrStringArray': readSchemaOrTexts,
};

function readTime(message: WireReader, formatFraction: (nanos: number) => string): string | undefined {
  const seconds = readInteger(message, 1);
  if (seconds === undefined) return undefined;
  const nanos = readInteger(message, 2) ?? 0n;
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

/** Throws JsonSyntaxError, or StatusError 413, as for a JSON body. */
function readRawJson(message: WireReader): unknown {
  const raw = readBytes(message, 1);
  if (raw === undefined || raw.length === 0) return undefined;
  const { value } = parseJson(decodeText(raw));
  message.count.spend(valuesIn(value));
  return value;
}

/** The value may recurse: the parser limits its depth. */
function valuesIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const child of Object.values(value)) count += valuesIn(child);
  return count;
}

function readIntOrString(message: WireReader): string | number | undefined {
  if ((readInteger(message, 1) ?? 0n) === 1n) return readText(message, 3) ?? '';
  return Number(BigInt.asIntN(32, readInteger(message, 2) ?? 0n));
}
