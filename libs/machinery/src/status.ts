import { type FieldError, type FieldErrorType, fieldErrorBody } from './field-errors.ts';
import { MAX_FIELD_ERROR_CHARS, MAX_FIELD_ERRORS } from './limits.ts';

/** A `metav1.Status` of kind Failure, as Kubernetes clients expect it. */
export interface StatusBody {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: 'Failure' | 'Success';
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code?: number;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'Invalid'
  | 'Timeout'
  | 'ServerTimeout'
  | 'TooManyRequests'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'ServiceUnavailable';

/** Thrown anywhere in the request pipeline. The pipeline responds with `body`. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly body: StatusBody & { readonly code: number };
  constructor(init: {
    code: number;
    reason?: StatusReason;
    message: string;
    details?: StatusDetails;
    /** List metadata, such as a continue token. */
    metadata?: StatusBody['metadata'];
    cause?: unknown;
  }) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.body = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: init.metadata ?? {},
      status: 'Failure',
      message: init.message,
      ...(init.reason === undefined ? {} : { reason: init.reason }),
      ...(init.details === undefined ? {} : { details: init.details }),
      code: init.code,
    };
  }
  get code(): number {
    return this.body.code;
  }
  get reason(): StatusReason | undefined {
    return this.body.reason;
  }
}

/** The object in a message: `deployments.apps "web"`. */
export interface Subject {
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  readonly name: string;
}

export const qualifiedResource = (s: Pick<Subject, 'group' | 'resource'>): string =>
  s.group === '' ? s.resource : `${s.resource}.${s.group}`;

const detailsOf = (s: Subject): StatusDetails => ({
  name: s.name,
  ...(s.group === '' ? {} : { group: s.group }),
  kind: s.resource,
});

export const notFound = (s: Subject): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `${qualifiedResource(s)} "${s.name}" not found`,
    details: detailsOf(s),
  });

export const alreadyExists = (s: Subject): StatusError =>
  new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${qualifiedResource(s)} "${s.name}" already exists`,
    details: detailsOf(s),
  });

export const conflict = (s: Subject, why: string): StatusError =>
  new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualifiedResource(s)} "${s.name}": ${why}`,
    details: detailsOf(s),
  });

/** The message of an optimistic-concurrency conflict, which client libraries recognize. */
export const MODIFIED_CONCURRENTLY =
  'the object has been modified; please apply your changes to the latest version and try again';

export const forbiddenError = (s: Subject, why: string): StatusError =>
  new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `${qualifiedResource(s)}${s.name === '' ? '' : ` "${s.name}"`} is forbidden: ${why}`,
    details: s.name === '' ? { ...(s.group === '' ? {} : { group: s.group }), kind: s.resource } : detailsOf(s),
  });

export const badRequest = (message: string, cause?: unknown): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message, cause });

export const requestEntityTooLarge = (why: string): StatusError =>
  new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: ${why}` });

/** A 422 that hides its cause: Kubernetes' response to a patch that cannot be applied. */
export const unprocessablePatch = (cause: unknown): StatusError =>
  new StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
    cause,
  });

/** A 500 without a reason: Kubernetes' response to an error without a status of its own. */
export const unclassifiedError = (message: string, cause?: unknown): StatusError =>
  new StatusError({ code: 500, message, cause });

export const unauthorized = (): StatusError =>
  new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });

export const expired = (message: string): StatusError => new StatusError({ code: 410, reason: 'Expired', message });

export const unavailable = (message: string, retryAfterSeconds = 1): StatusError =>
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message, details: { retryAfterSeconds } });

/** A 422 with one cause per field error. `kind` is the Kind, not the plural. */
export function invalidObject(
  of: { group: string; kind: string; name: string },
  errors: readonly FieldError[],
): StatusError {
  const told = withinBounds(errors);
  const messages = [...new Set(told.map(({ field, body }) => `${field}: ${body}`))];
  if (told.length < errors.length) messages.push(`and ${errors.length - told.length} more`);
  const list = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`;
  const kind = of.group === '' ? of.kind : `${of.kind}.${of.group}`;
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${kind} "${of.name}" is invalid: ${list}`,
    details: {
      ...(of.name === '' ? {} : { name: of.name }),
      ...(of.group === '' ? {} : { group: of.group }),
      kind: of.kind,
      causes: told.map(({ type, body, field }) => ({ reason: type, message: body, field })),
    },
  });
}

interface ToldError {
  readonly type: FieldErrorType;
  readonly field: string;
  readonly body: string;
}

/**
 * Keeps the first errors and prints each once: a value that many errors repeat would make the response many times
 * longer than the request.
 */
function withinBounds(errors: readonly FieldError[]): readonly ToldError[] {
  const told: ToldError[] = [];
  let chars = 0;
  for (const error of errors.slice(0, MAX_FIELD_ERRORS)) {
    const { type, field } = error;
    const body = fieldErrorBody(error);
    chars += field.length + body.length;
    if (chars > MAX_FIELD_ERROR_CHARS && told.length > 0) break;
    told.push({ type, field, body });
  }
  return told;
}

/** True for a create that is refused because its namespace is terminating. This is expected and needs no report. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof StatusError &&
  (error.body.details?.causes ?? []).some((cause) => cause.reason === 'NamespaceTerminating');
