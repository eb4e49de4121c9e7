import { acceptKey } from './frames.ts';

type Headers = Readonly<Record<string, string>>;

/** True when a request asks for an upgrade to WebSocket. Header names are in lower case. */
export const asksForWebSocket = (headers: Headers): boolean =>
  asksForUpgrade(headers) && (headers['upgrade'] ?? '').toLowerCase() === 'websocket';

export const asksForUpgrade = (headers: Headers): boolean =>
  listOf(headers['connection']?.toLowerCase()).includes('upgrade');

/**
 * Returns the sub-protocols that the client offers, best first. A protocol that carries a bearer token is a credential
 * and is left out.
 */
export const offeredProtocols = (headers: Headers): readonly string[] =>
  listOf(headers['sec-websocket-protocol']).filter((name) => !name.startsWith(BEARER_PROTOCOL));

/** The encoded bearer tokens among them. */
export const bearerProtocols = (headers: Headers): readonly string[] =>
  listOf(headers['sec-websocket-protocol']).flatMap((name) =>
    name.startsWith(BEARER_PROTOCOL) ? [name.slice(BEARER_PROTOCOL.length)] : [],
  );

const BEARER_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** The same headers without bearer tokens, for who gets the request next. */
export function withoutBearerProtocols(headers: Headers): Headers {
  const { 'sec-websocket-protocol': protocols, ...others } = headers;
  if (protocols?.includes(BEARER_PROTOCOL) !== true) return headers;
  const offered = offeredProtocols(headers);
  return offered.length === 0 ? others : { ...others, 'sec-websocket-protocol': offered.join(', ') };
}

/** Splits a list header into its items. */
export const listOf = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');

/**
 * Returns the headers of the 101 response; `undefined` when the request has no key or uses another version. An empty
 * `protocol` means none.
 */
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
