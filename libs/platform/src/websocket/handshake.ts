import { acceptKey } from './frames.ts';

type Headers = Readonly<Record<string, string>>;

/** Whether a request asks to go on as a WebSocket. Names of headers are in lower case. */
export const asksForWebSocket = (headers: Headers): boolean =>
  asksForUpgrade(headers) && (headers['upgrade'] ?? '').toLowerCase() === 'websocket';

export const asksForUpgrade = (headers: Headers): boolean =>
  listOf(headers['connection']?.toLowerCase()).includes('upgrade');

/** The sub-protocols that the client offers, best first. One that carries a bearer token is a credential, not a protocol. */
export const offeredProtocols = (headers: Headers): readonly string[] =>
  listOf(headers['sec-websocket-protocol']).filter((name) => !name.startsWith(BEARER_PROTOCOL));

const BEARER_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** The items of a header that is a list. */
export const listOf = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');

/** Headers of the answer 101. Undefined when the request misses its key or speaks another version. '' is no sub-protocol. */
export function webSocketHeaders(headers: Headers, protocol: string): Headers | undefined {
  const key = headers['sec-websocket-key'];
  if (key === undefined || headers['sec-websocket-version'] !== '13') return undefined;
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-accept': acceptKey(key),
    ...(protocol === '' ? {} : { 'sec-websocket-protocol': protocol }),
  };
}
