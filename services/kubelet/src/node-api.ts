import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { badRequest, notFound, StatusError } from '@holdfast/machinery';
import { describeError, type Log, parseTime } from '@holdfast/platform';
import type { LogRequest } from './pod-logs.ts';

export interface NodeApiDeps {
  readonly logs: (request: LogRequest) => Promise<AsyncIterable<Uint8Array>>;
  readonly log: Log;
}

/** What apiservers ask of this node. Who may ask is decided by whoever carries the requests. */
export function createNodeApi(deps: NodeApiDeps): ApiHandler {
  return async (request) => {
    try {
      return await answer(deps, request);
    } catch (error) {
      return refusal(error, deps.log);
    }
  };
}

async function answer(deps: NodeApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const [, route, ...names] = request.path.split('/');
  if (request.method === 'GET' && route === 'containerLogs' && names.length === 3) {
    const chunks = await deps.logs(readLogRequest(request, names));
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: { kind: 'stream', chunks } };
  }
  throw notFound({ group: '', resource: 'paths of this node', name: request.path });
}

function readLogRequest({ query, signal }: ApiRequest, names: readonly string[]): LogRequest {
  const [namespace = '', podName = '', container = ''] = names;
  const sinceSeconds = numberOf(query, 'sinceSeconds');
  const sinceTime = timeOf(query, 'sinceTime');
  const tailLines = numberOf(query, 'tailLines');
  const limitBytes = numberOf(query, 'limitBytes');
  return {
    namespace,
    podName,
    container,
    follow: query.get('follow') === 'true',
    previous: query.get('previous') === 'true',
    timestamps: query.get('timestamps') === 'true',
    ...(sinceSeconds === undefined ? {} : { sinceSeconds }),
    ...(sinceTime === undefined ? {} : { sinceTime }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw badRequest(`${name} must be a number, not ${JSON.stringify(text)}`);
}

function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const time = parseTime(text);
  if (time !== undefined) return time;
  throw badRequest(`${name} must be a time, not ${JSON.stringify(text)}`);
}

function refusal(error: unknown, log: Log): ApiResponse {
  const known = error instanceof StatusError;
  if (!known) log.error('a request to this node failed', { error: describeError(error) });
  const { body } = known
    ? error
    : new StatusError({
        code: 500,
        reason: 'InternalError',
        message: `Internal error occurred: ${describeError(error)}`,
      });
  return {
    status: body.code ?? 500,
    headers: { 'content-type': 'application/json' },
    body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(body)), value: () => body },
  };
}
