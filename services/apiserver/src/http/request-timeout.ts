import type { ApiRequest } from '@holdfast/client';
import { badRequest } from '@holdfast/machinery';
import { REQUEST_TIMEOUT_MAX_MS } from '../limits.ts';
import { isHistoryPath } from './history-path.ts';
import { isLongRunning } from './long-running.ts';
import type { RequestInfo } from './request-info.ts';

/** How long the client wants to wait: a Go duration. `common` without a word of it; nothing ends a stream. */
export function requestTimeoutMs({ query }: ApiRequest, info: RequestInfo): number | 'common' | 'none' {
  if (isLongRunning(info)) return 'none';
  const text = query.size === 0 ? '' : (query.get('timeout') ?? '');
  // A page of the history may have to read all of it.
  if (text === '') return isHistoryPath(info.path) ? 'none' : 'common';
  const read = readDuration(text);
  if (typeof read === 'string') throw badRequest(`invalid timeout specified in the request URL - time: ${read}`);
  const wantedMs = read / 1e6;
  return wantedMs > 0 && wantedMs < REQUEST_TIMEOUT_MAX_MS ? wantedMs : REQUEST_TIMEOUT_MAX_MS;
}

/** In nanoseconds. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['ns', 1],
  ['us', 1e3],
  ['µs', 1e3],
  ['μs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
  ['m', 60e9],
  ['h', 3600e9],
]);

/** 292 years. */
const TOO_LONG_NS = 2 ** 63;

/** In nanoseconds, or why Go reads no duration from a text. */
function readDuration(text: string): number | string {
  const shown = JSON.stringify(text);
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return 0;
  const parts = rest.match(/(?:\d+\.?\d*|\.\d+)[^\d.]*/g);
  if (parts === null || parts.join('') !== rest) return `invalid duration ${shown}`;
  let total = 0;
  for (const part of parts) {
    const unit = part.replace(/^[\d.]+/, '');
    const amount = Number.parseFloat(part);
    if (amount >= TOO_LONG_NS) return `invalid duration ${shown}`;
    if (unit === '') return `missing unit in duration ${shown}`;
    const nanoseconds = UNITS.get(unit);
    if (nanoseconds === undefined) return `unknown unit ${JSON.stringify(unit)} in duration ${shown}`;
    total += amount * nanoseconds;
    if (total >= TOO_LONG_NS) return `invalid duration ${shown}`;
  }
  return text.startsWith('-') ? -total : total;
}
