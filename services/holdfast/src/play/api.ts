import { type ApiHandler, type ApiRequest, type ApiResponse, jsonOf } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { kindOf, PLAYED_KINDS, type PlayedKind } from './kinds.ts';
import type { Stage } from './stage.ts';
import { readStep } from './step.ts';
import type { Hands } from './time.ts';

export const PLAY_PATH = '/holdfast.io/play/v1';
const PLAY_API = 'play.holdfast.io/v1';
const FAULTS = `${PLAY_PATH}/faults`;

export interface PlayDeps {
  readonly stage: Stage;
  readonly hands: Hands;
  /** The API server: it says who asks and whether he may. */
  readonly handle: ApiHandler;
}

/** The API with faults beside it. Only who may use its paths by RBAC gets an answer: administrators, by default. */
export const createPlayHandler =
  ({ handle, ...players }: PlayDeps): ApiHandler =>
  async (request) => {
    if (request.path !== PLAY_PATH && !request.path.startsWith(`${PLAY_PATH}/`)) return handle(request);
    try {
      return (await refusalOf(handle, request)) ?? (await answer(players, request));
    } catch (error) {
      if (error instanceof StatusError) return json(error.body.code, error.body);
      throw error;
    }
  };

/** Asks the API server as the caller, with all that says who he is. */
async function refusalOf(handle: ApiHandler, request: ApiRequest): Promise<ApiResponse | undefined> {
  const { connection, headers } = request;
  const verb = request.method.toLowerCase();
  const identity = Object.entries(headers).filter(
    ([name]) => name === 'authorization' || name.startsWith('impersonate-'),
  );
  const response = await handle({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    query: new URLSearchParams(),
    headers: { ...Object.fromEntries(identity), 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { nonResourceAttributes: { path: request.path, verb } },
    }),
    ...(connection === undefined ? {} : { connection }),
  });
  if (response.status !== 201) return response;
  const { status } = jsonOf(response) as { readonly status?: { readonly allowed?: boolean } };
  if (status?.allowed === true) return undefined;
  const message = `forbidden: you may not ${verb} path "${PLAY_PATH}": only administrators play faults`;
  throw new StatusError({ code: 403, reason: 'Forbidden', message });
}

type Players = Omit<PlayDeps, 'handle'>;

async function answer({ stage, hands }: Players, request: ApiRequest): Promise<ApiResponse> {
  const { method, path, body } = request;
  if (path === PLAY_PATH && method === 'GET') return json(200, { ...describe(stage), clock: hands.shown() });
  if (path === FAULTS && method === 'GET') return json(200, { ...typeOf('FaultList'), items: stage.faults() });
  if (path === FAULTS && method === 'POST') {
    requireJson(request);
    return json(201, { ...typeOf('Fault'), ...stage.begin(readStep(body)) });
  }
  if (path === FAULTS && method === 'DELETE') {
    stage.endAll();
    return json(200, { ...typeOf('FaultList'), items: [] });
  }
  if (path.startsWith(`${FAULTS}/`) && method === 'DELETE') return endOne(stage, path.slice(FAULTS.length + 1));
  if (path === `${PLAY_PATH}/advance` && method === 'POST') {
    requireJson(request);
    return json(200, { ...typeOf('Advance'), clock: await hands.advance(body, request.signal) });
  }
  throw new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `use ${PLAY_PATH}, ${FAULTS}, ${FAULTS}/ID or ${PLAY_PATH}/advance`,
  });
}

/** Refuses a form of another site: it cannot send this type. */
function requireJson({ headers }: ApiRequest): void {
  if (headers['content-type']?.split(';', 1)[0]?.trim() === 'application/json') return;
  throw new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: 'a step is sent as application/json',
  });
}

function endOne(stage: Stage, id: string): ApiResponse {
  if (stage.end(id)) return json(200, typeOf('Status'));
  throw new StatusError({ code: 404, reason: 'NotFound', message: 'this fault has ended, or never was' });
}

const describe = (stage: Stage): object => ({
  ...typeOf('Play'),
  targets: stage.targets(),
  kinds: (Object.keys(PLAYED_KINDS) as PlayedKind[]).map((name) => {
    const { targets, says, value } = kindOf(name);
    return { do: name, targets, says, ...(value === undefined ? {} : { value }) };
  }),
  faults: stage.faults(),
});

const typeOf = (kind: string): object => ({ kind, apiVersion: kind === 'Status' ? 'v1' : PLAY_API });

const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});
