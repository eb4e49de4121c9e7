import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { forbidden, json, notAllowed, SECURITY_HEADERS, signedOut, tooMany } from './answers.ts';
import { sessionCookie } from './cookies.ts';
import { requireOwnPage } from './own-page.ts';
import { requireSession } from './session.ts';
import type { Sessions } from './sessions.ts';
import type { Tickets } from './tickets.ts';

export const STREAM_PREFIX = '/ui/stream';
/** The ticket follows in the list of protocols: addresses are in logs, and a browser sends no other header of ours. */
const TICKET_PROTOCOL = 'holdfast.ticket.';
/** `v5` tells the end of input. Both carry the exit code. */
const PROTOCOL = 'v5.channel.k8s.io';
const STREAMS = /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/(?:exec|attach)$/;

export interface TerminalDeps {
  readonly sessions: Sessions;
  readonly tickets: Tickets;
  readonly handle: ApiHandler;
}

/** `POST /ui/ticket`: one WebSocket for who has both secrets of the session. */
export function answerTicket({ sessions, tickets }: TerminalDeps, request: ApiRequest): ApiResponse {
  const guard = requireOwnPage(request);
  if (request.method !== 'POST') throw notAllowed();
  requireSession(sessions, request, guard);
  const ticket = tickets.issue(sessionCookie(request) ?? '', guard);
  if (ticket === undefined) throw tooMany('too many terminals are being opened; try again in a minute');
  return json(201, { ticket });
}

/** A WebSocket of the page: a command in a pod, as the person of the session. */
export async function openStream({ tickets, handle }: TerminalDeps, request: ApiRequest): Promise<ApiResponse> {
  const { headers, query, signal, connection } = request;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const ticket = offered.find((each) => each.startsWith(TICKET_PROTOCOL))?.slice(TICKET_PROTOCOL.length) ?? '';
  // Used up whatever else is wrong with the request.
  const token = tickets.redeem(ticket, sessionCookie(request) ?? '');
  requireOwnOrigin(request);
  if (token === undefined) throw signedOut('This needs a new ticket of the session.');
  const path = request.path.slice(STREAM_PREFIX.length);
  if (!STREAMS.test(path)) throw forbidden('it opens only exec and attach of pods');
  const passed = ['connection', 'upgrade', 'sec-websocket-key', 'sec-websocket-version'].flatMap((name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  const response = await handle({
    method: 'GET',
    path,
    query,
    headers: {
      ...Object.fromEntries(passed),
      'sec-websocket-protocol': PROTOCOL,
      'user-agent': 'holdfast-console',
      authorization: `Bearer ${token}`,
    },
    ...(signal === undefined ? {} : { signal }),
    ...(connection === undefined ? {} : { connection: { remoteAddress: connection.remoteAddress } }),
  });
  return response.status === 101 ? response : { ...response, headers: { ...response.headers, ...SECURITY_HEADERS } };
}

/** Browsers always say the origin of a WebSocket: without one it is none of a page. */
function requireOwnOrigin({ method, headers }: ApiRequest): void {
  const site = headers['sec-fetch-site'];
  if (method !== 'GET' || (headers['upgrade'] ?? '').toLowerCase() !== 'websocket') throw notAllowed();
  if (headers['origin'] !== `https://${headers['host'] ?? ''}` || (site !== undefined && site !== 'same-origin')) {
    throw forbidden('only the console itself may ask this');
  }
}
