import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery/status';
import { describeError, OperatorError } from '@holdfast/platform/errors';
import type { Log } from '@holdfast/platform/log';
import { json, SECURITY_HEADERS } from './answers.ts';
import { Files } from './files.ts';
import { CLUSTER_PREFIX, forward } from './forward.ts';
import { answerServer, SERVERS_PREFIX } from './servers.ts';
import type { Sessions } from './sessions.ts';
import { answerLink, answerSession, type Offers } from './sign-in.ts';
import { answerTicket, openStream, STREAM_PREFIX } from './terminal.ts';
import { Tickets } from './tickets.ts';
import type { NamedServer } from './upstream.ts';
import { Writes } from './writes.ts';

export interface ConsoleDeps {
  readonly sessions: Sessions;
  /** The API server. */
  readonly handle: ApiHandler;
  readonly log: Log;
  readonly files?: Files;
  /** API servers that can be asked one by one. */
  readonly servers?: readonly NamedServer[];
  /** What is here beside the API, for the page. */
  readonly offers?: Offers;
}

/** Answers everything at and below `/ui`. The API itself does not change: sessions exist here alone. */
export function createConsoleHandler({ files = new Files(), ...deps }: ConsoleDeps): ApiHandler {
  const tickets = new Tickets(deps.sessions, deps.sessions.deps);
  const writes = new Writes(deps.sessions.deps.clock);
  return async (request) => {
    try {
      return await route({ ...deps, files, tickets, writes }, request);
    } catch (error) {
      return refuse(error, deps.log);
    }
  };
}

type Parts = ConsoleDeps & { readonly files: Files; readonly tickets: Tickets; readonly writes: Writes };

function route(deps: Parts, request: ApiRequest): Promise<ApiResponse> | ApiResponse {
  const { path } = request;
  if (path === '/ui')
    return { status: 308, headers: { ...SECURITY_HEADERS, location: '/ui/' }, body: { kind: 'empty' } };
  if (path.startsWith(`${CLUSTER_PREFIX}/`)) return forward(deps, request);
  if (path.startsWith(SERVERS_PREFIX)) return answerServer(deps, request);
  if (path === '/ui/session') return answerSession(deps, request);
  if (path === '/ui/ticket') return answerTicket(deps, request);
  if (path.startsWith(`${STREAM_PREFIX}/`)) return openStream(deps, request);
  if (path === '/ui/link') return answerLink(deps, request);
  return deps.files.answer(request);
}

function refuse(error: unknown, log: Log): ApiResponse {
  if (error instanceof StatusError) return json(error.body.code, error.body);
  log.error('a request to the console failed', { error: describeError(error) });
  const message = error instanceof OperatorError ? `${error.message} ${error.nextStep}` : 'the console failed';
  return json(500, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: 500,
    reason: 'InternalError',
    message,
  });
}
