import type { Pod } from '@holdfast/api';
import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { badRequest, notFound, StatusError } from '@holdfast/machinery';
import { describeError, type Log, parseTime } from '@holdfast/platform';
import type { NodeLogs } from '../adapters/node-log-directory.ts';
import type { StatsRoutes } from '../stats/routes.ts';
import type { LogRequest } from './pod-logs.ts';
import { attachToPod, execInPod, forwardToPod, type PodStreamsDeps, type StreamTarget } from './pod-streams.ts';

export interface NodeApiDeps extends PodStreamsDeps {
  readonly logs: (request: LogRequest) => Promise<AsyncIterable<Uint8Array>>;
  /** The pods of this node, as last received from the API. */
  readonly pods: () => readonly Pod[];
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  /** Files of the machine below `/logs`. Absent: the node shows none. */
  readonly files?: NodeLogs | undefined;
  /** Below `/stats` and `/metrics`. */
  readonly numbers?: StatsRoutes;
}

/** Handles requests of API servers. The carrier of the requests authorizes them. */
export function createNodeApi(deps: NodeApiDeps): ApiHandler {
  return async (request) => {
    try {
      return await answer(deps, request);
    } catch (error) {
      return errorAnswer(error, deps.log);
    }
  };
}

async function answer(deps: NodeApiDeps, request: ApiRequest): Promise<ApiResponse> {
  const [, route = '', ...names] = request.path.split('/');
  const stream = STREAMS.get(route);
  if (stream !== undefined && STREAM_METHODS.has(request.method)) return stream(deps, request, names);
  if (request.method === 'GET' && route === 'containerLogs' && names.length === 3) {
    const chunks = await deps.logs(readLogRequest(request, names));
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: { kind: 'stream', chunks } };
  }
  if (request.method === 'GET' && route === 'healthz') return text('ok');
  if (request.method === 'GET' && route === 'logs' && deps.files !== undefined) return deps.files(request.path);
  const numbers = request.method === 'GET' ? await deps.numbers?.(request.path, request.query) : undefined;
  if (numbers !== undefined) return numbers;
  if (request.method === 'GET' && route === 'runningpods') {
    return json(200, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: await runningPods(deps) });
  }
  if (request.method === 'GET' && route === 'pods') {
    return json(200, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: deps.pods() });
  }
  throw notFound({ group: '', resource: 'paths of this node', name: request.path });
}

/** The container runtime's pods, whatever the API has: with their running containers, without a status. */
async function runningPods({ runtime }: NodeApiDeps): Promise<readonly object[]> {
  const sandboxes = await runtime.list();
  return sandboxes
    .map(({ config, containers }) => ({ config, running: containers.filter(({ state }) => state === 'running') }))
    .filter(({ running }) => running.length > 0)
    .map(({ config, running }) => ({
      metadata: { name: config.podName, namespace: config.podNamespace, uid: config.podUid, creationTimestamp: null },
      spec: {
        containers: running.map((each) => ({ name: each.config.name, image: each.config.image, resources: {} })),
      },
      status: {},
    }));
}

const STREAM_METHODS: ReadonlySet<string> = new Set(['GET', 'POST']);

type StreamRoute = (deps: NodeApiDeps, request: ApiRequest, names: readonly string[]) => Promise<ApiResponse>;

/** `/<route>/<namespace>/<pod>[/<uid>]/<container>`; `portForward` has no container. */
const STREAMS: ReadonlyMap<string, StreamRoute> = new Map<string, StreamRoute>([
  ['exec', (deps, request, names) => execInPod(deps, request, target(deps, names))],
  ['attach', (deps, request, names) => attachToPod(deps, request, target(deps, names))],
  [
    'portForward',
    (deps, request, [namespace = '', name = '', uid]) =>
      forwardToPod(deps, request, podOf(deps, { namespace, name, uid })),
  ],
]);

function target(deps: NodeApiDeps, names: readonly string[]): StreamTarget {
  const [namespace = '', name = '', third = '', fourth] = names;
  const [uid, container] = fourth === undefined ? [undefined, third] : [third, fourth];
  return { pod: podOf(deps, { namespace, name, uid }), container };
}

function podOf(
  deps: NodeApiDeps,
  { namespace, name, uid }: { namespace: string; name: string; uid: string | undefined },
): Pod {
  const pod = deps.pod(namespace, name);
  if (pod !== undefined && (uid === undefined || pod.metadata.uid === uid)) return pod;
  throw notFound({ group: '', resource: 'pods', name });
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

/** The `Status` that answers anything thrown while serving a request. */
export function errorAnswer(error: unknown, log: Log): ApiResponse {
  const known = error instanceof StatusError;
  if (!known) log.error('a request to this node failed', { error: describeError(error) });
  const { body } = known
    ? error
    : new StatusError({
        code: 500,
        reason: 'InternalError',
        message: `Internal error occurred: ${describeError(error)}`,
      });
  return json(body.code ?? 500, body);
}

const text = (content: string): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: { kind: 'text', contentType: 'text/plain; charset=utf-8', text: content },
});

const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});
