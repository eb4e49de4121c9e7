/** Checks of names and labels. Each returns its errors in the words of Kubernetes, or nothing. */
const DNS1123_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS1123_SUBDOMAIN = `${DNS1123_LABEL}(\\.${DNS1123_LABEL})*`;
const QUALIFIED_NAME_PART = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${QUALIFIED_NAME_PART})?`;

const DNS1123_SUBDOMAIN_TEXT = new RegExp(`^${DNS1123_SUBDOMAIN}$`);
const QUALIFIED_NAME_PART_TEXT = new RegExp(`^${QUALIFIED_NAME_PART}$`);
const LABEL_VALUE_TEXT = new RegExp(`^${LABEL_VALUE}$`);

const DNS1123_SUBDOMAIN_MAX = 253;
const QUALIFIED_NAME_PART_MAX = 63;
const LABEL_VALUE_MAX = 63;

const maxLengthText = (length: number): string => `must be no more than ${length} characters`;

function regexText(message: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

const SUBDOMAIN_WRONG = regexText(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  DNS1123_SUBDOMAIN,
  ['example.com'],
);
const NAME_PART_WRONG = regexText(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED_NAME_PART,
  ['MyName', 'my.name', '123-abc'],
);
const LABEL_VALUE_WRONG = regexText(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  LABEL_VALUE,
  ['MyValue', 'my_value', '12345'],
);
const QUALIFIED_NAME_WRONG = `${regexText(
  "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED_NAME_PART,
  ['MyName', 'my.name', '123-abc'],
)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;

const NONE: readonly string[] = [];

export function dnsSubdomainErrors(name: string): readonly string[] {
  if (name.length <= DNS1123_SUBDOMAIN_MAX && DNS1123_SUBDOMAIN_TEXT.test(name)) return NONE;
  const errors: string[] = [];
  if (name.length > DNS1123_SUBDOMAIN_MAX) errors.push(maxLengthText(DNS1123_SUBDOMAIN_MAX));
  if (!DNS1123_SUBDOMAIN_TEXT.test(name)) errors.push(SUBDOMAIN_WRONG);
  return errors;
}

/** Keys of labels, annotations and resources: `name` or `prefix.example.com/name`. */
export function qualifiedNameErrors(text: string): readonly string[] {
  // A name without a prefix has no slash.
  if (isNamePart(text)) return NONE;
  const parts = text.split('/');
  if (parts.length > 2) return [QUALIFIED_NAME_WRONG];
  const errors: string[] = [];
  const [prefix, name] = parts.length === 2 ? parts : [undefined, parts[0]];
  if (prefix === '') errors.push('prefix part must be non-empty');
  else if (prefix !== undefined) errors.push(...dnsSubdomainErrors(prefix).map((error) => `prefix part ${error}`));
  errors.push(...namePartErrors(name ?? '').map((error) => `name part ${error}`));
  return errors;
}

const isNamePart = (name: string): boolean =>
  name.length <= QUALIFIED_NAME_PART_MAX && QUALIFIED_NAME_PART_TEXT.test(name);

function namePartErrors(name: string): readonly string[] {
  const errors: string[] = [];
  if (name === '') errors.push('must be non-empty');
  else if (name.length > QUALIFIED_NAME_PART_MAX) errors.push(maxLengthText(QUALIFIED_NAME_PART_MAX));
  if (!QUALIFIED_NAME_PART_TEXT.test(name)) errors.push(NAME_PART_WRONG);
  return errors;
}

export function labelValueErrors(value: string): readonly string[] {
  if (value.length <= LABEL_VALUE_MAX && LABEL_VALUE_TEXT.test(value)) return NONE;
  const errors: string[] = [];
  if (value.length > LABEL_VALUE_MAX) errors.push(maxLengthText(LABEL_VALUE_MAX));
  if (!LABEL_VALUE_TEXT.test(value)) errors.push(LABEL_VALUE_WRONG);
  return errors;
}
