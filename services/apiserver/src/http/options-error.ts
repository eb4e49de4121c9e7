import { type FieldErrorType, StatusError } from '@holdfast/machinery';

const REASONS = {
  Forbidden: 'FieldValueForbidden',
  'Unsupported value': 'FieldValueNotSupported',
  'Invalid value': 'FieldValueInvalid',
  'Required value': 'FieldValueRequired',
} as const satisfies Record<string, FieldErrorType>;

/** 422 about the options of a request: `CreateOptions.meta.k8s.io "" is invalid: dryRun: ...` */
export function invalidOptions(kind: string, field: string, type: keyof typeof REASONS, detail: string): StatusError {
  const message = `${type}: ${detail}`;
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${kind}.meta.k8s.io "" is invalid: ${field}: ${message}`,
    details: { group: 'meta.k8s.io', kind, causes: [{ reason: REASONS[type], message, field }] },
  });
}
