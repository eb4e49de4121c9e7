import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { notAllowed, notFound } from './answers.ts';
import { forwardTo } from './forward.ts';
import type { Sessions } from './sessions.ts';
import type { NamedServer } from './upstream.ts';

export const SERVERS_PREFIX = '/ui/servers/';
/** What one server says of itself. The API is the same behind each of them. */
const ASKED = '/readyz';

/** `GET /ui/servers/NAME/readyz`: the page compares what the API servers report. */
export async function answerServer(
  { sessions, servers = [] }: { readonly sessions: Sessions; readonly servers?: readonly NamedServer[] },
  request: ApiRequest,
): Promise<ApiResponse> {
  if (request.method !== 'GET') throw notAllowed();
  const server = servers.find(({ name }) => request.path === `${SERVERS_PREFIX}${name}${ASKED}`);
  if (server === undefined) throw notFound();
  return forwardTo({ sessions, handle: server.handle }, request, ASKED);
}
