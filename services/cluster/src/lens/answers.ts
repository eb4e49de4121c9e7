import type { ApiResponse, WatchEvent, WatchFrame } from '@holdfast/client';
import { deepFreeze, type StatusError } from '@holdfast/machinery';

export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  const frozen = deepFreeze(value);
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(frozen)), value: () => frozen },
  };
}

export function statusAnswer({ body }: StatusError): ApiResponse {
  const retry = body.details?.retryAfterSeconds;
  return jsonAnswer(body.code, body, retry === undefined ? {} : { 'retry-after': String(retry) });
}

export function frameOf(event: WatchEvent): WatchFrame {
  const frozen = deepFreeze(event);
  return { bytes: () => Buffer.from(`${JSON.stringify(frozen)}\n`), value: () => frozen };
}

export const watchAnswer = (frames: AsyncIterable<WatchFrame>): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: { kind: 'watch', frames },
});
