import type { ApiRequest } from '@holdfast/client';
import { badRequest } from '@holdfast/machinery';
import type { RequestInfo } from './request-info.ts';

/** How long a client is willing to wait has to be a duration of Go; streams do not end by it. */
export function refuseUnreadableTimeout({ query }: ApiRequest, info: RequestInfo): void {
  if (query.size === 0 || isLongRunning(info)) return;
  const text = query.get('timeout') ?? '';
  const problem = text === '' ? undefined : durationProblem(text);
  if (problem !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${problem}`);
}

const isLongRunning = (info: RequestInfo): boolean =>
  info.kind === 'resource' && (info.verb === 'watch' || STREAMS.has(info.subresource));

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

const UNITS: ReadonlySet<string> = new Set(['ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h']);

/** Why Go reads no duration from a text. */
function durationProblem(text: string): string | undefined {
  const shown = JSON.stringify(text);
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return undefined;
  const parts = rest.match(/(?:\d+\.?\d*|\.\d+)[^\d.]*/g);
  if (parts === null || parts.join('') !== rest) return `invalid duration ${shown}`;
  for (const part of parts) {
    const unit = part.replace(/^[\d.]+/, '');
    if (unit === '') return `missing unit in duration ${shown}`;
    if (!UNITS.has(unit)) return `unknown unit ${JSON.stringify(unit)} in duration ${shown}`;
  }
  return undefined;
}
