/**
 * Typed validation errors with the exact words of `k8s.io/apimachinery/pkg/util/validation/field`. Validators collect
 * them and never throw single ones.
 */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name` */
  readonly field: string;
  readonly badValue?: unknown;
  readonly detail: string;
}

export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

export const required = (field: string, detail = ''): FieldError => ({ type: 'FieldValueRequired', field, detail });
export const invalid = (field: string, badValue: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  badValue,
  detail,
});
export const forbidden = (field: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field,
  detail,
});
export const duplicate = (field: string, badValue: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  badValue,
  detail: '',
});
export const notFoundValue = (field: string, badValue: unknown): FieldError => ({
  type: 'FieldValueNotFound',
  field,
  badValue,
  detail: '',
});
export const notSupported = (field: string, badValue: unknown, supported: readonly string[]): FieldError => ({
  type: 'FieldValueNotSupported',
  field,
  badValue,
  detail: supported.length === 0 ? '' : `supported values: ${supported.map((s) => JSON.stringify(s)).join(', ')}`,
});
export const tooLong = (field: string, maxLength: number): FieldError => ({
  type: 'FieldValueTooLong',
  field,
  badValue: '',
  detail: `may not be more than ${maxLength} bytes`,
});
export const tooMany = (field: string, actual: number, maximum: number): FieldError => ({
  type: 'FieldValueTooMany',
  field,
  badValue: actual,
  detail: `must have at most ${maximum} items`,
});

const TYPE_TEXT: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
};

/** The message without the field: `Invalid value: -1: must be greater than or equal to 0`. */
export function fieldErrorBody(error: FieldError): string {
  const head = TYPE_TEXT[error.type];
  const omitsValue = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueTooLong', 'InternalError'].includes(
    error.type,
  );
  const value = omitsValue || error.badValue === OMITTED ? '' : `: ${renderValue(error.badValue)}`;
  return `${head}${value}${error.detail === '' ? '' : `: ${error.detail}`}`;
}

/** `spec.replicas: Invalid value: -1: must be greater than or equal to 0` */
export function fieldErrorMessage(error: FieldError): string {
  return `${error.field}: ${fieldErrorBody(error)}`;
}

function renderValue(value: unknown): string {
  if (value instanceof Verbatim) return value.text;
  if (value === undefined || value === null) return '"null"';
  return JSON.stringify(value);
}

/** An invalid value that prints as this text, unquoted: Kubernetes shows some values in Go's debug syntax. */
export class Verbatim {
  #text: string | (() => string);

  /**
   * Composes a long text only when it is printed: many errors may show one large value, and only few of them reach the
   * client.
   */
  constructor(text: string | (() => string)) {
    this.#text = text;
  }

  get text(): string {
    if (typeof this.#text !== 'string') this.#text = this.#text();
    return this.#text;
  }
}

/** An invalid value that Kubernetes omits from the message. */
export const OMITTED = new Verbatim('');
