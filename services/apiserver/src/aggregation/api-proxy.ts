import type { ClientRequest } from 'node:http';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock, Log } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import { textAnswer } from '../http/answers.ts';
import type { RequestInfo } from '../http/request-info.ts';
import { AGGREGATED_ANSWER_MS, AGGREGATED_DISCOVERY_MS } from '../limits.ts';
import { asPrivate, withoutOpenings } from '../proxy/proxy-answer.ts';
import { exchangeOverHttp } from '../proxy/proxy-exchange.ts';
import { encodePath, forwardedHeaders, passedHeaders, queryText } from '../service-calls/passed-request.ts';
import type { CallTarget } from '../service-calls/port.ts';
import { isStaleConnection, tlsFailureOf } from '../service-calls/tls.ts';
import type { RemoteApi } from './api-services.ts';
import { endedBy } from './bounded-stream.ts';
import { identityHeaders, isIdentityHeader } from './identity-headers.ts';
import type { RemoteConnections } from './remote-connection.ts';

export interface ApiProxyDeps {
  readonly connections: RemoteConnections;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ForwardedRequest {
  readonly request: ApiRequest;
  /** The user, after authorization. */
  readonly user: User;
  readonly info: RequestInfo;
  readonly api: RemoteApi;
  /** The id in the events of this server, for those of the other. Absent: this server has no audit. */
  readonly auditId?: string;
}

/** Answers of the server that an APIService names. Errors on the way are plain text, as in Kubernetes: no API here can say more. */
export async function forwardToApi(deps: ApiProxyDeps, forwarded: ForwardedRequest): Promise<ApiResponse> {
  const { api } = forwarded;
  const target = api.isAvailable ? deps.connections.find(api) : 'it is not available';
  if (typeof target === 'string') {
    deps.log.debug('a request was not forwarded', { apiService: api.name, why: target });
    return unavailable('service unavailable');
  }
  const answer = withOneAuditId(await exchange(deps, forwarded, { target }), forwarded);
  if (answer.status >= 300 && answer.status <= 399 && answer.headers['location'] !== undefined) {
    discard(answer);
    return textAnswer(502, 'the backend attempted to redirect this request, which is not permitted');
  }
  return answer.upgrade === undefined ? asPrivate(withoutOpenings(answer)) : answer;
}

/** The client gets the id of this server, under which both have their events. */
function withOneAuditId(answer: ApiResponse, { auditId }: ForwardedRequest): ApiResponse {
  if (auditId === undefined) return answer;
  const { 'audit-id': _theirs, ...headers } = answer.headers;
  return { ...answer, headers };
}

const unavailable = (why: string): ApiResponse => textAnswer(503, `${why}\n`);

interface Way {
  readonly target: CallTarget;
  readonly isAlone?: boolean;
}

async function exchange(deps: ApiProxyDeps, forwarded: ForwardedRequest, way: Way): Promise<ApiResponse> {
  const { request } = forwarded;
  let sent: ClientRequest;
  try {
    sent = open(deps, forwarded, way);
  } catch (error) {
    return unavailable(`error trying to reach service: ${error instanceof Error ? error.message : 'unknown'}`);
  }
  const isEndless = isStream(forwarded);
  const answerMs = isDiscovery(forwarded.info) ? AGGREGATED_DISCOVERY_MS : AGGREGATED_ANSWER_MS;
  try {
    const answer = await exchangeOverHttp(sent, request, { clock: deps.clock, told: notReached, answerMs });
    return isEndless || answer.body.kind !== 'stream' ? answer : endedBy(answer, deps.clock, () => sent.destroy());
  } catch (error) {
    if (!(error instanceof StatusError) || !(error.cause instanceof Error)) throw error;
    if (way.isAlone !== true && isRepeatable(request) && isStaleConnection(sent, error.cause)) {
      return exchange(deps, forwarded, { ...way, isAlone: true });
    }
    const began = request.headers['upgrade'] === undefined ? 'error trying to reach service' : 'error dialing backend';
    return unavailable(`${began}: ${tlsFailureOf(error.cause)}`);
  }
}

const notReached = (message: string, cause: Error): StatusError => new StatusError({ code: 503, message, cause });

function open(
  { connections }: ApiProxyDeps,
  { request, user, auditId }: ForwardedRequest,
  { target, isAlone = false }: Way,
): ClientRequest {
  const passed = Object.entries(passedHeaders(request)).filter(([name]) => !isIdentityHeader(name));
  return connections.open({
    target,
    isAlone,
    method: request.method,
    path: `${encodePath(request.path)}${queryText(request.query)}`,
    headers: {
      ...Object.fromEntries(passed),
      ...forwardedHeaders(request),
      ...lengthOf(request),
      host: new URL(target.url).host,
      ...identityHeaders(user),
      ...(auditId === undefined ? {} : { 'audit-id': auditId }),
    },
    signal: request.signal,
  });
}

/** A client need not say it over HTTP/2. */
const lengthOf = ({ body }: ApiRequest): Record<string, string> =>
  body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };

/** A request without effects may be repeated. */
const isRepeatable = ({ method, body }: ApiRequest): boolean =>
  (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') && body === undefined;

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

const isStream = ({ info, request }: ForwardedRequest): boolean =>
  request.headers['upgrade'] !== undefined ||
  (info.kind === 'resource' && (info.verb === 'watch' || STREAMS.has(info.subresource)));

/** `/apis/GROUP/VERSION`: clients ask it of every server before they do anything. */
const isDiscovery = (info: RequestInfo): boolean =>
  info.kind === 'path' && info.path.split('/').filter(Boolean).length === 3;

function discard({ body }: ApiResponse): void {
  if (body.kind === 'stream') void body.chunks[Symbol.asyncIterator]().return?.();
}
