import { dns1035LabelErrors, dnsLabelErrors } from '@holdfast/api';
import { dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '@holdfast/machinery';
import { traverses } from '../estimates.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { listOf, opaque, optionalOf, STRING } from '../types.ts';
import { ArrayList, type CelValue, OpaqueValue, OptionalValue } from '../values.ts';
import { parseTimestamp } from './time-text.ts';

export const FORMAT = opaque('kubernetes.NamedFormat');

class FormatValue extends OpaqueValue {
  readonly opaqueName = 'kubernetes.NamedFormat';
  readonly name: string;
  readonly errors: (text: string) => readonly string[];
  constructor(name: string, errors: (text: string) => readonly string[]) {
    super();
    this.name = name;
    this.errors = errors;
  }
}

/** The prefix of a generated name may end in a dash. */
const prefixOf =
  (errors: (text: string) => readonly string[]) =>
  (text: string): readonly string[] =>
    errors(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const DATE = /^\d{4}-\d\d-\d\d$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const URI = /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/?|\/)\S*$/;

const matching =
  (holds: (text: string) => boolean, message: string) =>
  (text: string): readonly string[] =>
    holds(text) ? [] : [message];

const FORMATS: ReadonlyMap<string, FormatValue> = new Map(
  (
    [
      ['dns1123Label', dnsLabelErrors],
      ['dns1123Subdomain', dnsSubdomainErrors],
      ['dns1035Label', dns1035LabelErrors],
      ['qualifiedName', qualifiedNameErrors],
      ['dns1123LabelPrefix', prefixOf(dnsLabelErrors)],
      ['dns1123SubdomainPrefix', prefixOf(dnsSubdomainErrors)],
      ['dns1035LabelPrefix', prefixOf(dns1035LabelErrors)],
      ['labelValue', labelValueErrors],
      ['uri', matching((text) => URI.test(text), 'invalid URI')],
      ['uuid', matching((text) => UUID.test(text), 'does not match the UUID format')],
      ['byte', matching((text) => BASE64.test(text), 'invalid base64')],
      [
        'date',
        matching((text) => DATE.test(text) && parseTimestamp(`${text}T00:00:00Z`) !== undefined, 'invalid date'),
      ],
      ['datetime', matching((text) => parseTimestamp(text) !== undefined, 'invalid datetime')],
    ] as const
  ).map(([name, errors]) => [name, new FormatValue(name, errors)]),
);

const table = new FunctionTable()
  .global('format.named', 'format_named', signature([STRING], optionalOf(FORMAT)), ([name]) => named(name as string))
  .member(
    'validate',
    'format_validate',
    signature([FORMAT, STRING], optionalOf(listOf(STRING))),
    ([format, text]) => validate(format as FormatValue, text as string),
    traverses(1),
  );
for (const [name, value] of FORMATS)
  table.global(`format.${name}`, `format_${name}`, signature([], FORMAT), () => value);

function named(name: string): CelValue {
  const format = FORMATS.get(name);
  return format === undefined ? OptionalValue.none : new OptionalValue(format);
}

/** Returns none when the text is valid. */
function validate(format: FormatValue, text: string): CelValue {
  const errors = format.errors(text);
  return errors.length === 0 ? OptionalValue.none : new OptionalValue(new ArrayList(errors));
}

export const NAMED_FORMATS: Functions = table.build();
