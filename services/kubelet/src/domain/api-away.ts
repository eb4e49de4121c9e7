import { TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';

const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS_FROM = 500;

/** No API server answered, or the one that did cannot serve now. What it says otherwise is believed. */
export function isApiAway(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === TOO_MANY_REQUESTS || error.code >= SERVER_ERRORS_FROM;
  return error instanceof TransportError;
}
