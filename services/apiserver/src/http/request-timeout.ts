import type { ApiRequest } from '@holdfast/client';
import { badRequest } from '@holdfast/machinery';
import { isLongRunning } from './long-running.ts';
import type { RequestInfo } from './request-info.ts';

/** The client's timeout must be a Go duration; it does not end streams. */
export function refuseUnreadableTimeout({ query }: ApiRequest, info: RequestInfo): void {
  if (query.size === 0 || isLongRunning(info)) return;
  const text = query.get('timeout') ?? '';
  const problem = text === '' ? undefined : durationProblem(text);
  if (problem !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${problem}`);
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

/** Why Go reads no duration from a text. */
function durationProblem(text: string): string | undefined {
  const shown = JSON.stringify(text);
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return undefined;
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
  return undefined;
}
