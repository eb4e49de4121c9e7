import { formatTime } from '@holdfast/platform';
import { WIRE_BYTES, WIRE_VARINT, WireReader } from './wire.ts';

/**
 * Messages whose JSON is not an object: times, quantities, numbers-or-strings, raw JSON, named lists. `undefined` = nothing to
 * print (the zero value).
 */
export const SPECIAL_MESSAGES: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  'meta.v1.Time': (bytes) => readTime(bytes, () => ''),
  'meta.v1.MicroTime': (bytes) => readTime(bytes, formatMicros),
  'meta.v1.Duration': (bytes) => formatDuration(readInteger(bytes, 1) ?? 0n),
  'meta.v1.FieldsV1': readRawJson,
  'runtime.RawExtension': readRawJson,
  'resource.Quantity': (bytes) => readText(bytes, 1),
  'intstr.IntOrString': readIntOrString,
  'authentication.v1.ExtraValue': readTexts,
  'authorization.v1.ExtraValue': readTexts,
  'certificates.v1.ExtraValue': readTexts,
  'meta.v1.Verbs': readTexts,
};

const text = new TextDecoder('utf-8', { fatal: true });

function readTime(bytes: Uint8Array, formatFraction: (nanos: number) => string): string | undefined {
  const seconds = readInteger(bytes, 1);
  if (seconds === undefined) return undefined;
  return formatTime(Number(seconds) * 1000).replace('Z', `${formatFraction(Number(readInteger(bytes, 2) ?? 0n))}Z`);
}

const formatMicros = (nanos: number): string => `.${String(Math.floor(nanos / 1000)).padStart(6, '0')}`;

function readRawJson(bytes: Uint8Array): unknown {
  const raw = readBytes(bytes, 1);
  return raw === undefined || raw.length === 0 ? undefined : JSON.parse(text.decode(raw));
}

function readIntOrString(bytes: Uint8Array): string | number | undefined {
  if ((readInteger(bytes, 1) ?? 0n) === 1n) return readText(bytes, 3) ?? '';
  return Number(BigInt.asIntN(32, readInteger(bytes, 2) ?? 0n));
}

function readText(bytes: Uint8Array, field: number): string | undefined {
  const raw = readBytes(bytes, field);
  return raw === undefined ? undefined : text.decode(raw);
}

function readTexts(bytes: Uint8Array): readonly string[] {
  const found: string[] = [];
  walk(bytes, (number, value) => {
    if (number === 1 && value instanceof Uint8Array) found.push(text.decode(value));
  });
  return found;
}

function readInteger(bytes: Uint8Array, field: number): bigint | undefined {
  let found: bigint | undefined;
  walk(bytes, (number, value) => {
    if (number === field && typeof value === 'bigint') found = BigInt.asIntN(64, value);
  });
  return found;
}

function readBytes(bytes: Uint8Array, field: number): Uint8Array | undefined {
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

const NANOS_PER_SECOND = 1_000_000_000n;

/** As Go prints a duration: `1h30m0s`, `1.5s`. */
function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = String(size % NANOS_PER_SECOND)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const total = size / NANOS_PER_SECOND;
  const seconds = `${total % 60n}${fraction === '' ? '' : `.${fraction}`}s`;
  const hours = total / 3600n;
  const minutes = (total / 60n) % 60n;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}
