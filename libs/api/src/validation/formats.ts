/** Text formats. Each check returns its errors in the words of Kubernetes, or nothing. */
export { dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '@holdfast/machinery';

export type Check = (value: string) => readonly string[];

const NONE: readonly string[] = [];

export const emptyText = 'must be non-empty';
export const maxLengthText = (length: number): string => `must be no more than ${length} characters`;
export const rangeText = (min: number, max: number): string => `must be between ${min} and ${max}, inclusive`;

export function regexText(message: string, pattern: string, ...examples: readonly string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

interface Rule {
  readonly pattern: string;
  readonly message: string;
  readonly examples: readonly string[];
  readonly maxLength?: number;
}

function ruleCheck({ pattern, message, examples, maxLength }: Rule): Check {
  const whole = new RegExp(`^(?:${pattern})$`);
  const wrong = regexText(message, pattern, ...examples);
  return (value) => {
    const tooLong = maxLength !== undefined && byteLength(value) > maxLength;
    const matches = whole.test(value);
    if (!tooLong && matches) return NONE;
    return [...(tooLong ? [maxLengthText(maxLength)] : []), ...(matches ? [] : [wrong])];
  };
}

const DNS1123_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS1123_SUBDOMAIN = `${DNS1123_LABEL}(\\.${DNS1123_LABEL})*`;
const DNS1123_SUBDOMAIN_TEXT = new RegExp(`^${DNS1123_SUBDOMAIN}$`);

const dnsLabelRule = ruleCheck({
  pattern: DNS1123_LABEL,
  message:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  examples: ['my-name', '123-abc'],
  maxLength: 63,
});

export const DNS_LABEL_MAX = 63;

/** Distinguishes a dotted name from an invalid one: without the dots it would be valid. */
export const dnsLabelErrors: Check = (value) => {
  const errors = dnsLabelRule(value);
  if (errors.length === 0 || !DNS1123_SUBDOMAIN_TEXT.test(value) || !value.includes('.')) return errors;
  return [...(byteLength(value) > DNS_LABEL_MAX ? [maxLengthText(DNS_LABEL_MAX)] : []), 'must not contain dots'];
};

export const dns1035LabelErrors: Check = ruleCheck({
  pattern: '[a-z]([-a-z0-9]*[a-z0-9])?',
  message:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  examples: ['my-name', 'abc-123'],
  maxLength: 63,
});

export const wildcardSubdomainErrors: Check = ruleCheck({
  pattern: `\\*\\.${DNS1123_SUBDOMAIN}`,
  message:
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  examples: ['*.example.com'],
  maxLength: 253,
});

export const httpHeaderNameErrors: Check = ruleCheck({
  pattern: '[-A-Za-z0-9]+',
  message: "a valid HTTP header must consist of alphanumeric characters or '-'",
  examples: ['X-Header-Name'],
});

export const percentErrors: Check = ruleCheck({
  pattern: '[0-9]+%',
  message: "a valid percent string must be a numeric string followed by an ending '%'",
  examples: ['1%', '93%'],
});

const configKeyRule = ruleCheck({
  pattern: '[-._a-zA-Z0-9]+',
  message: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  examples: ['key.name', 'KEY_NAME', 'key-name'],
  maxLength: 253,
});

export const configMapKeyErrors: Check = (value) => withPathPrefix(value, configKeyRule(value));

const ENV_NAME_WRONG =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";

/** Any printable ASCII except `=`: the relaxed rule of 1.32. */
export const envVarNameErrors: Check = (value) => {
  if (value === '') return [`environment variable name ${emptyText}`];
  return /^[\x20-\x3c\x3e-\x7e]*$/.test(value) ? NONE : [ENV_NAME_WRONG];
};

function withPathPrefix(value: string, errors: readonly string[]): readonly string[] {
  if (value === '.') return [...errors, `must not be '.'`];
  if (value === '..') return [...errors, `must not be '..'`];
  return value.startsWith('..') ? [...errors, `must not start with '..'`] : errors;
}

export const portNumberErrors = (port: number): readonly string[] =>
  port >= 1 && port <= 65_535 ? NONE : [rangeText(1, 65_535)];

export const portNameErrors: Check = (name) => {
  const errors: string[] = [];
  if (byteLength(name) > 15) errors.push(maxLengthText(15));
  if (!/^[-a-z0-9]+$/.test(name)) errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) errors.push('must contain at least one letter (a-z)');
  if (name.includes('--')) errors.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
};

export const MAX_UID = 2_147_483_647;

export const unixIdErrors = (id: number): readonly string[] =>
  id >= 0 && id <= MAX_UID ? NONE : [rangeText(0, MAX_UID)];

const BEYOND_ASCII = /[^ -~\s]/;

/** Go counts bytes, JavaScript counts UTF-16 units. */
export const byteLength = (value: string): number =>
  BEYOND_ASCII.test(value) ? new TextEncoder().encode(value).length : value.length;

/** Returns the number of bytes in a standard base64 text. */
export function base64Length(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.max(0, (text.length / 4) * 3 - padding);
}
