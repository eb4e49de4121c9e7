import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { NO_TRACER, type SpanOptions } from '@holdfast/platform';
import type { RemoteApi } from '../aggregation/api-services.ts';
import type { AuditNotes } from '../audit/notes.ts';
import { API_SERVER, type User } from '../authentication/identity.ts';
import { authorize } from '../authorization/chain.ts';
import { impersonate, wantedOfNobody, wantsToImpersonate } from '../authorization/impersonation.ts';
import { isOfNode, refuseOtherIncarnation } from '../authorization/node-incarnation.ts';
import { answerBackup, BACKUP_PATH } from '../backup/endpoint.ts';
import type { Core } from '../core.ts';
import { type HealthCheck, isHealthPath } from '../endpoints/health.ts';
import { answerPath } from '../endpoints/paths.ts';
import { isBuiltInGroup } from '../endpoints/served-kinds.ts';
import { distinguisherOf, type FlowRequest } from '../flow-control/flow-request.ts';
import { discard } from '../front/answer-bodies.ts';
import { recorded, recordRefusal } from '../history/authorship.ts';
import { answerHistory } from '../history/endpoint.ts';
import { asAccepted } from '../http/accepted-type.ts';
import { errorAnswer, isFault, textAnswer } from '../http/answers.ts';
import type { ResourceContext } from '../http/context.ts';
import { isHistoryPath } from '../http/history-path.ts';
import { negotiate, negotiateList, negotiateWatch, negotiateWithoutTable } from '../http/negotiation.ts';
import { nothingThere, notServed } from '../http/not-served.ts';
import { refuseLate } from '../http/out-of-time.ts';
import { isForWebSocket, overWebSocket } from '../http/over-websocket.ts';
import { encoderFor } from '../http/protobuf.ts';
import { hasProtobufBody, withJsonBody } from '../http/protobuf-body.ts';
import { methodNotAllowed, refuseName } from '../http/refusals.ts';
import { type RequestInfo, type ResourceRequest, readRequestInfo } from '../http/request-info.ts';
import { requestTimeoutMs } from '../http/request-timeout.ts';
import type { Warnings } from '../http/warnings.ts';
import { type CoresByRoom, roomOf } from '../http/write-room.ts';
import { hasLongYamlBody } from '../http/yaml-reader.ts';
import { LARGE_BODY_BYTES } from '../limits.ts';
import { refuseHalted, refuseUnloaded, refuseUnreadable } from '../objects/readable.ts';
import type { Flow } from '../turns/fair-queue.ts';
import { refuseUnfitShape } from '../verbs/unfit-shape.ts';
import type { VirtualHandler, VirtualResource } from '../virtual/port.ts';
import { findVirtualResource } from '../virtual/registry.ts';
import { answerCustom } from './answer-custom.ts';
import { inTime } from './in-time.ts';
import { routeResource } from './resource-router.ts';

export interface Pipeline {
  readonly core: Core;
  readonly inRoom: CoresByRoom;
  readonly checks: readonly HealthCheck[];
}

export interface Incoming {
  readonly request: ApiRequest;
  /** The authenticated user. */
  readonly user: User;
  readonly warnings: Warnings;
  /** Absent: the request is not audited. */
  readonly audit?: AuditNotes;
  /** The id in the events of this request. Absent: this server has no audit. */
  readonly auditId?: string;
  /** Flow control's response headers, once known. */
  readonly flow: { headers?: Readonly<Record<string, string>> };
}

/** Impersonation, authorization, routing and the handler: everything after authentication. Counts what comes out. */
export function answer(pipeline: Pipeline, incoming: Incoming): Promise<ApiResponse> {
  const { tracer } = pipeline.core;
  const info = readRequestInfo(incoming.request);
  if (tracer === NO_TRACER) return answerCounted(pipeline, incoming, info);
  return tracer.span(spanName(info), spanOptions(info, incoming), async (span) => {
    const response = await answerCounted(pipeline, incoming, info);
    span.set({ 'http.response.status_code': response.status });
    return response;
  });
}

const spanName = (info: RequestInfo): string =>
  info.kind === 'path' ? `${info.verb} ${info.path.slice(0, SPAN_NAME_MAX)}` : `${info.verb} ${resourceText(info)}`;

const SPAN_NAME_MAX = 100;

const resourceText = ({ resource, subresource }: ResourceRequest): string =>
  subresource === '' ? resource : `${resource}/${subresource}`;

function spanOptions(info: RequestInfo, { request, user }: Incoming): SpanOptions {
  const about =
    info.kind === 'path'
      ? {}
      : {
          'holdfast.api.group': info.group,
          'holdfast.api.resource': resourceText(info),
          'holdfast.api.namespace': info.namespace,
          'holdfast.api.name': info.name,
        };
  const attributes = {
    'http.request.method': request.method,
    'holdfast.api.verb': info.verb,
    'user.name': user.name,
    ...about,
  };
  return { kind: 'server', attributes, traceparent: request.headers['traceparent'] };
}

async function answerCounted(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  const { clock, metrics, log } = pipeline.core;
  const began = clock.monotonic();
  const done = (code: number): void => metrics.requestDone(info, code, (clock.monotonic() - began) / 1000);
  try {
    const response = await route(pipeline, incoming, info);
    done(response.status);
    return response;
  } catch (error) {
    if (incoming.audit !== undefined && isFault(error)) incoming.audit.failed(error);
    if (info.kind === 'resource') recordRefusal(pipeline.core, incoming, info, error);
    const accepted = asAccepted(incoming.request, errorAnswer(error, log));
    const response = accepted instanceof Promise ? await accepted : accepted;
    done(response.status);
    return response;
  }
}

/** No step creates a promise unless it must wait: errors are thrown synchronously. */
function route(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  const timeoutMs = requestTimeoutMs(incoming.request, info);
  if (info.kind === 'resource') refuseUnloaded(pipeline.core.cache);
  // The server itself waits as long as it has to.
  const isEndless = timeoutMs === 'none' || (timeoutMs === 'common' && incoming.user === API_SERVER);
  if (isEndless) return routeAs(pipeline, incoming, info);
  const { clock, deadline } = pipeline.core;
  const ask = (request: ApiRequest): Promise<ApiResponse> => routeAs(pipeline, { ...incoming, request }, info);
  return timeoutMs === 'common'
    ? deadline.answer(incoming.request, ask)
    : inTime(clock, timeoutMs, incoming.request, ask);
}

function routeAs(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  return wantsToImpersonate(incoming.request)
    ? routeForAnother(pipeline, incoming, info)
    : routeInFlow(pipeline, incoming, info);
}

async function routeForAnother(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  const nobody = wantedOfNobody(incoming.request);
  if (nobody !== undefined) return internalError(incoming.request, nobody);
  const user = await impersonate(pipeline.core.access.authorizers, incoming.user, incoming.request);
  incoming.audit?.actsAs(user);
  return routeInFlow(pipeline, { ...incoming, user }, info);
}

/** Waits for seats of the priority level, and then for a turn on the thread. */
function routeInFlow(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  const { flowControl } = pipeline.core;
  const { request, user } = incoming;
  const route = flowControl.match(user, info);
  const { turn } = route.flowOf(distinguisherOf(route, user, info));
  if (!flowControl.isCounted(info)) return routeInTurn(pipeline, incoming, { info, turn });
  incoming.flow.headers = route.headers;
  const entered = flowControl.enter(route, request, { user, info });
  const serve = (seated: FlowRequest): Promise<ApiResponse> => {
    const finish = (): void => flowControl.finish(seated);
    try {
      const served = routeInTurn(pipeline, incoming, { info, turn });
      served.then(finish, finish);
      return served;
    } catch (error) {
      finish();
      throw error;
    }
  };
  return entered instanceof Promise ? entered.then(serve) : serve(entered);
}

/** Bodies may be texts as well, whose length is close enough to their bytes. */
const isLarge = ({ body }: ApiRequest): boolean => body !== undefined && body.length > LARGE_BODY_BYTES;

function routeInTurn(
  pipeline: Pipeline,
  incoming: Incoming,
  { info, turn }: { readonly info: RequestInfo; readonly turn: Flow },
): Promise<ApiResponse> {
  const { request, user } = incoming;
  const waits = isHealthPath(info.path) ? undefined : pipeline.core.turns.begin(user, turn, isLarge(request));
  return waits === undefined
    ? routeAllowed(pipeline, incoming, info)
    : waits.then(() => {
        refuseLate(request);
        return routeAllowed(pipeline, incoming, info);
      });
}

async function routeOfNode(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  await refuseOtherIncarnation(pipeline.core, incoming, info);
  return perform(pipeline, incoming, info);
}

function routeAllowed(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  const asked = authorize(pipeline.core.access.authorizers, incoming.user, info, incoming.audit);
  if (isOfNode(incoming.user)) return Promise.resolve(asked).then(() => routeOfNode(pipeline, incoming, info));
  return asked === undefined ? perform(pipeline, incoming, info) : asked.then(() => perform(pipeline, incoming, info));
}

function perform(pipeline: Pipeline, incoming: Incoming, info: RequestInfo): Promise<ApiResponse> {
  const api = remoteApiOf(pipeline.core, incoming);
  if (api !== undefined) return pipeline.core.aggregation.forward({ ...incoming, info, api });
  const loading = encoderFor(incoming.request);
  return loading === undefined
    ? performReady(pipeline, incoming, info)
    : loading.then(() => performReady(pipeline, incoming, info));
}

/** The server itself, which keeps what everything rests on, never depends on another. */
const remoteApiOf = ({ aggregation }: Core, { request, user }: Incoming): RemoteApi | undefined =>
  user === API_SERVER ? undefined : aggregation.apis.remoteOfPath(request.path);

function performReady(
  { core: common, inRoom, checks }: Pipeline,
  incoming: Incoming,
  info: RequestInfo,
): Promise<ApiResponse> {
  const { request } = incoming;
  if (info.kind === 'path') {
    if (info.path === BACKUP_PATH) return answerBackup(common, incoming);
    return isHistoryPath(info.path) ? answerHistory(common, incoming) : answerPath(common, incoming, checks);
  }
  refuseHalted(common.store);
  refuseUnreadable(common, info);
  const core = recorded(inRoom[roomOf(incoming.user, info)], incoming, info);
  const answered = whenReadable(common, answerInRoom(core, incoming, info), info);
  if (!isForWebSocket(request, info)) return answered;
  return answered.then((response) => orDiscarded(response, () => overWebSocket(core, request, response)));
}

function answerInRoom(core: Core, incoming: Incoming, info: ResourceRequest): Promise<ApiResponse> {
  const { request } = incoming;
  return core.writeGate.pass(info.verb, incoming.user, () => {
    if (hasProtobufBody(request) && isReadable(core, info))
      return withJsonBody(request).then((json) => answerResource(core, { ...incoming, request: json }, info));
    return hasLongYamlBody(request) ? answerLongYaml(core, incoming, info) : answerResource(core, incoming, info);
  });
}

async function answerLongYaml(core: Core, incoming: Incoming, info: ResourceRequest): Promise<ApiResponse> {
  await core.yaml.readAhead(core.turns.flowOf(incoming.user), incoming.request);
  if (core.turns.isOver(incoming.user)) await core.turns.goOn(incoming.user);
  return answerResource(core, incoming, info);
}

/** An unreadable object may have appeared while the response waited for the newest change. */
function whenReadable(core: Core, answered: Promise<ApiResponse>, info: ResourceRequest): Promise<ApiResponse> {
  if (core.store.atRest === undefined) return answered;
  return answered.then((response) =>
    orDiscarded(response, () => {
      refuseUnreadable(core, info);
      return response;
    }),
  );
}

/** A refusal behind the response ends what the response has opened. */
async function orDiscarded(response: ApiResponse, checked: () => ApiResponse): Promise<ApiResponse> {
  try {
    return checked();
  } catch (error) {
    await discard(response.body);
    throw error;
  }
}

/** Kinds of definitions have no protobuf; their decoder refuses the type. */
const isReadable = ({ kinds }: Core, { group, version, resource }: ResourceRequest): boolean =>
  kinds.find(group, version, resource)?.custom === undefined;

/** Before authentication there is no Status. */
function internalError({ path, query }: ApiRequest, why: string): ApiResponse {
  const uri = query.size === 0 ? path : `${path}?${query.toString()}`;
  const text = `Internal Server Error: ${JSON.stringify(uri)}: ${why}`;
  return textAnswer(500, `${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}\n`);
}

/** By verb, for the path of a list. */
const NEGOTIATIONS: ReadonlyMap<string, typeof negotiate> = new Map([
  ['list', negotiateList],
  ['watch', negotiateWatch],
]);

function answerResource(core: Core, incoming: Incoming, info: ResourceRequest): Promise<ApiResponse> {
  const { request, user, warnings } = incoming;
  // Only proxied services know these methods.
  if ((request.method === 'HEAD' || request.method === 'OPTIONS') && info.subresource !== 'proxy')
    throw methodNotAllowed();
  if (info.verb === 'watch' && request.method !== 'GET') throw methodNotAllowed();
  const contextOf = (represent: typeof negotiate): ResourceContext => ({
    request,
    info,
    user,
    representation: represent(request.headers['accept']),
    warn: (text) => warnings.add(text),
    audit: incoming.audit,
  });
  const definition = core.kinds.find(info.group, info.version, info.resource);
  if (definition !== undefined && definition.custom === undefined) {
    const handler = routeResource(info, definition);
    refuseName(info.name);
    const context = contextOf(NEGOTIATIONS.get(info.verb) ?? negotiate);
    refuseUnfitShape(context, definition);
    return handler(core, context, definition);
  }
  const virtual = findVirtualResource(info.group, info.version, info.resource);
  if (virtual === undefined) {
    const context = (): ResourceContext => contextOf(NEGOTIATIONS.get(info.verb) ?? negotiate);
    return answerCustom(core, info, context).then((answered) => answered ?? unknownResource(info));
  }
  return virtualHandler(virtual, info)(core, contextOf(info.verb === 'create' ? negotiateWithoutTable : negotiate));
}

function virtualHandler({ verbs, namespaced }: VirtualResource, info: ResourceRequest): VirtualHandler {
  if (info.subresource !== '') throw notServed();
  const handler = new Map(Object.entries(verbs)).get(info.verb);
  if (handler === undefined || (info.verb === 'get') !== (info.name !== '')) throw methodNotAllowed();
  // A list may be that of all namespaces.
  const isEverywhere = namespaced && info.verb === 'list';
  if (namespaced !== (info.namespace !== '') && !isEverywhere) throw notServed();
  return handler;
}

/** An unknown group is no API at all; an unknown version or resource of a known one is a `Status`. */
function unknownResource(info: ResourceRequest): ApiResponse {
  if (isBuiltInGroup(info.group)) throw notServed();
  return nothingThere();
}
