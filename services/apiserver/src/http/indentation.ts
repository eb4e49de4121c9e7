import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { deepFreeze } from '@holdfast/machinery';
import { INDENTED_BYTES_MAX } from '../limits.ts';
import { jsonAnswer } from './answers.ts';

/** The same answer with line breaks, for people who look at it: whoever asks so, and programs that people use by hand. */
export function asRead(request: ApiRequest, response: ApiResponse): ApiResponse {
  if (!wantsIndentation(request)) return response;
  const { body } = response;
  if (body.kind !== 'json' || isVerbatim(request.path)) return response;
  // Whoever fetches this much does not look at it.
  if (body.pieces !== undefined && body.pieces().length > INDENTED_BYTES_MAX) return response;
  return { ...response, body: { kind: 'json', bytes: () => indented(body.value()), value: body.value } };
}

/** Of documents that always come with line breaks. */
export function indentedAnswer(status: number, value: unknown): ApiResponse {
  const answer = jsonAnswer(status, value);
  return { ...answer, body: { kind: 'json', bytes: () => indented(value), value: () => deepFreeze(value) } };
}

const indented = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value, undefined, 2));

/** The query decides; without it a part of the accepted type, or who asks. */
function wantsIndentation({ query, headers }: ApiRequest): boolean {
  const asked = query.size === 0 ? null : query.get('pretty');
  if (asked !== null && asked !== '') return TRUE.has(asked);
  const agent = headers['user-agent'];
  if (agent !== undefined && isReadByPeople(agent)) return true;
  return headers['accept']?.includes('pretty=1') === true;
}

/** As Go reads a truth value. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

const isReadByPeople = (agent: string): boolean =>
  agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');

/** Documents that are sent as they are kept. */
const isVerbatim = (path: string): boolean =>
  path.startsWith('/openapi/') || path.startsWith('/openid/') || path.startsWith('/.well-known/');
