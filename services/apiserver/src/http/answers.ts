import type { ApiResponse } from '@holdfast/client';
import { deepFreeze, type StatusBody, StatusError, unavailable } from '@holdfast/machinery';
import { describeError, InvariantViolation, type Log } from '@holdfast/platform';
import { OutcomeUnknown, StoreFull, StoreUnavailable, Unreadable, Unsealable, WriteTooLarge } from '@holdfast/store';
import { RequestForbidden } from './refusals.ts';
import { TooManyRequests } from './too-many-requests.ts';

/** A JSON answer from a value made for this request. */
export function jsonAnswer(status: number, value: unknown, contentType = 'application/json'): ApiResponse {
  return textJsonAnswer(
    status,
    () => JSON.stringify(value),
    () => deepFreeze(value),
    contentType,
  );
}

/** A JSON answer whose text or value may never be needed: the direct transport takes the value, HTTPS the bytes. */
export function textJsonAnswer(
  status: number,
  text: () => string,
  value: () => unknown,
  contentType = 'application/json',
): ApiResponse {
  let bytes: Uint8Array | undefined;
  return {
    status,
    headers: { 'content-type': contentType },
    body: { kind: 'json', bytes: () => (bytes ??= Buffer.from(text())), value },
  };
}

const NO_SNIFFING = { 'x-content-type-options': 'nosniff' } as const;

export function textAnswer(status: number, text: string, contentType = 'text/plain; charset=utf-8'): ApiResponse {
  return {
    status,
    headers: { 'content-type': contentType, ...NO_SNIFFING },
    body: { kind: 'text', contentType, text },
  };
}

/** The `Status` that answers anything thrown while serving a request. */
export function errorAnswer(thrown: unknown, log: Log): ApiResponse {
  if (thrown instanceof TooManyRequests) return tooManyAnswer(thrown);
  const { body } = toStatusError(thrown, log);
  const retry = body.details?.retryAfterSeconds;
  const answer = jsonAnswer(body.code, body);
  if (thrown instanceof RequestForbidden) return { ...answer, headers: { ...answer.headers, ...NO_SNIFFING } };
  return retry === undefined ? answer : { ...answer, headers: { ...answer.headers, 'retry-after': String(retry) } };
}

/** True for unexpected errors: the client gets an internal error. */
export const isFault = (thrown: unknown): boolean =>
  !(
    thrown instanceof StatusError ||
    thrown instanceof TooManyRequests ||
    thrown instanceof StoreUnavailable ||
    thrown instanceof StoreFull ||
    thrown instanceof WriteTooLarge ||
    thrown instanceof OutcomeUnknown ||
    thrown instanceof Unreadable ||
    thrown instanceof Unsealable
  );

function tooManyAnswer({ message, retryAfterSeconds }: TooManyRequests): ApiResponse {
  const answer = textAnswer(429, `${message}\n`);
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } };
}

export function toStatusError(thrown: unknown, log: Log): { readonly body: StatusBody & { readonly code: number } } {
  if (thrown instanceof StatusError) return thrown;
  if (thrown instanceof StoreUnavailable) return unavailable(`the store cannot serve now: ${thrown.message}`);
  if (thrown instanceof StoreFull) return noRoom(thrown);
  if (thrown instanceof WriteTooLarge) return tooLarge(thrown);
  if (thrown instanceof OutcomeUnknown) return outcomeUnknown(thrown);
  if (thrown instanceof Unreadable || thrown instanceof Unsealable) return internalError(thrown);
  log.error(thrown instanceof InvariantViolation ? 'a request broke an invariant' : 'a request failed', {
    error: describeError(thrown),
    stack: thrown instanceof Error ? thrown.stack : undefined,
  });
  return new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${describeError(thrown)}`,
    details: { causes: [{ message: describeError(thrown) }] },
  });
}

const internalError = ({ message }: Error): StatusError =>
  new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
  });

/** Status and message of a kube-apiserver whose etcd is full. No Retry-After: only deletions help. */
const noRoom = (thrown: StoreFull): StatusError =>
  new StatusError({
    code: 500,
    message: 'etcdserver: mvcc: database space exceeded',
    details: { causes: [{ reason: 'StoreFull', message: `${thrown.message}; delete objects to make room` }] },
    cause: thrown,
  });

/** No Retry-After: the same object will never fit. */
const tooLarge = (thrown: WriteTooLarge): StatusError =>
  new StatusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity is too large: ${thrown.message}`,
    cause: thrown,
  });

/** No Retry-After here: clients would repeat the verb, and the write may already have been applied. */
function outcomeUnknown(thrown: OutcomeUnknown): StatusError {
  return new StatusError({
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: the write may have been applied; read the object before retrying',
    details: { causes: [{ reason: 'OutcomeUnknown', message: `write id ${thrown.writeId}` }] },
    cause: thrown,
  });
}
