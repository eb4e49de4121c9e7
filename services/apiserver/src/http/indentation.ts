import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { deepFreeze } from '@holdfast/machinery';
import { INDENTED_BYTES_MAX } from '../limits.ts';
import { textJsonAnswer } from './answers.ts';

/** Adds line breaks for people: on request, and for interactive programs. */
export function asRead(request: ApiRequest, response: ApiResponse): ApiResponse {
  if (!wantsIndentation(request)) return response;
  const { body } = response;
  if (body.kind !== 'json' || isVerbatim(request.path) || isBinary(response)) return response;
  // The length is known without composing the document.
  if (body.pieces !== undefined && body.pieces().length > INDENTED_BYTES_MAX) return response;
  let bytes: Uint8Array | undefined;
  const read = (): Uint8Array => {
    const plain = body.bytes();
    return isTooLong(plain) ? plain : Buffer.from(indented(body.value()));
  };
  return { ...response, body: { kind: 'json', bytes: () => (bytes ??= read()), value: body.value } };
}

/** For documents that always have line breaks. */
export function indentedAnswer(status: number, value: unknown): ApiResponse {
  return textJsonAnswer(
    status,
    () => indented(value),
    () => deepFreeze(value),
  );
}

const indented = (value: unknown): string => JSON.stringify(value, undefined, 2);

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** `[` and `]`; `{` and `}` differ from them in one bit. */
const OPENING = 0x5b;
const CLOSING = 0x5d;
const OF_OBJECTS = 0x20;

/** True when a JSON text would be too long with line breaks: deep levels have hundreds of spaces per two characters. */
function isTooLong(text: Uint8Array): boolean {
  let { length } = text;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length && length <= INDENTED_BYTES_MAX; at++) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA) length += 1 + 2 * depth;
    else if ((byte & ~OF_OBJECTS) === OPENING) length += 1 + 2 * ++depth;
    else if ((byte & ~OF_OBJECTS) === CLOSING) length += 1 + 2 * --depth;
  }
  return length > INDENTED_BYTES_MAX;
}

/** The query decides; without it a part of the accepted type, or who asks. */
function wantsIndentation({ query, headers }: ApiRequest): boolean {
  const asked = query.size === 0 ? null : query.get('pretty');
  if (asked !== null && asked !== '') return TRUE.has(asked);
  const agent = headers['user-agent'];
  if (agent !== undefined && isReadByPeople(agent)) return true;
  return headers['accept']?.includes('pretty=1') === true;
}

/** Go's values of true. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

const isReadByPeople = (agent: string): boolean =>
  agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');

const isBinary = ({ headers }: ApiResponse): boolean => headers['content-type']?.includes('protobuf') === true;

/** Documents that are sent as they are kept. */
const isVerbatim = (path: string): boolean =>
  path.startsWith('/openapi/') || path.startsWith('/openid/') || path.startsWith('/.well-known/');
