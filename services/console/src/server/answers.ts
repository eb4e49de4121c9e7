import type { ApiResponse } from '@holdfast/client';
import { StatusError, type StatusReason } from '@holdfast/machinery/status';

/**
 * For every answer below /ui/. Scripts and styles come from this origin alone, nothing is inline, and nobody may frame
 * the console. An object of the cluster that is opened as a page would be sandboxed.
 */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** For the page itself. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return {
    status,
    headers: { ...SECURITY_HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
  };
}

const refusal = (code: number, reason: StatusReason, message: string): StatusError =>
  new StatusError({ code, reason, message });

export const forbidden = (why: string): StatusError => refusal(403, 'Forbidden', `the console refuses this: ${why}`);
export const signedOut = (why: string): StatusError => refusal(401, 'Unauthorized', why);
export const notFound = (): StatusError => refusal(404, 'NotFound', 'the console has no such page');
export const notAllowed = (): StatusError => refusal(405, 'MethodNotAllowed', 'the console does not take this method');
export const malformed = (why: string): StatusError => refusal(400, 'BadRequest', why);
export const tooMany = (why: string): StatusError => refusal(429, 'TooManyRequests', why);
/** No API server was reached. Nothing was changed. */
export const unreachable = (why: string): StatusError =>
  refusal(503, 'ServiceUnavailable', `no API server answers the console: ${why}`);
export const unanswered = (why: string): StatusError =>
  refusal(504, 'Timeout', `the API server did not answer, and may have made the change: ${why}`);
/** The answer to a repeated write was too long to keep. */
export const unkept = (status: number): StatusError =>
  refusal(504, 'Timeout', `the API server answered ${status}, but the connection broke: read the object again`);
