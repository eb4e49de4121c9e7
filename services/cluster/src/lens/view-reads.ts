import { INITIAL_EVENTS_END_ANNOTATION } from '@holdfast/api';
import type { ApiHandler, ApiRequest, ApiResponse, WatchFrame } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { frameOf, jsonAnswer } from './answers.ts';
import type { Asked } from './asked.ts';
import type { HeldView } from './held-view.ts';

/** As long as a server waits for a revision that it does not have yet. */
const WAIT_FOR_REVISION_MS = 3_000;

/** What a read of a client may be answered with. */
type Freshness =
  | { readonly kind: 'newest' | 'any' | 'elsewhere' }
  | { readonly kind: 'not older'; readonly revision: number };

/** `elsewhere`: the cache of an API server does not answer it. */
export function freshnessOf({ request: { query }, info }: Asked): Freshness {
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  if (query.get('continue') || match === 'Exact' || info.subresource !== '') return { kind: 'elsewhere' };
  if (version === '') return { kind: 'newest' };
  if (version === '0') return { kind: 'any' };
  // A limited list with a revision means exactly this state.
  if (info.verb === 'list' && match === '' && query.has('limit')) return { kind: 'elsewhere' };
  return { kind: 'not older', revision: Number(version) };
}

/** Answers a list or get of the cache from the held revision. */
export async function readFromView(asked: Asked, next: ApiHandler, view: HeldView): Promise<ApiResponse> {
  const freshness = freshnessOf(asked);
  if (freshness.kind === 'not older' && !view.shows(freshness.revision)) {
    const { revision: held = 0 } = view;
    if (await view.released(WAIT_FOR_REVISION_MS)) return next(asked.request);
    throw tooLarge(freshness.revision, held);
  }
  if (view.revision === undefined) return next(asked.request);
  const answer = await next(listAt(asked, view.revision));
  return asked.info.verb === 'list' || answer.status !== 200 ? answer : itemOf(asked, answer);
}

/** The list of this revision for the same selection, as JSON. */
export function listAt({ request, info, name }: Asked, revision: number): ApiRequest {
  const query = new URLSearchParams(request.query);
  for (const parameter of NOT_OF_LISTS) query.delete(parameter);
  query.set('resourceVersion', String(revision));
  query.set('resourceVersionMatch', 'Exact');
  const { body: _, ...rest } = request;
  const ofOne = info.verb === 'get';
  if (ofOne) query.set('fieldSelector', `metadata.name=${name}`);
  const path = ofOne ? request.path.slice(0, request.path.lastIndexOf('/')) : request.path;
  return { ...rest, method: 'GET', path, query, headers: asJson(request) };
}

const NOT_OF_LISTS = [
  'watch',
  'allowWatchBookmarks',
  'sendInitialEvents',
  'timeoutSeconds',
  'limit',
  'continue',
] as const;

export const asJson = ({ headers }: ApiRequest): ApiRequest['headers'] => ({ ...headers, accept: 'application/json' });

interface ListDocument {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly object[];
}

/** Lists of our own server have no other form. */
const documentOf = ({ body }: ApiResponse): ListDocument | undefined =>
  body.kind === 'json' ? (body.value() as ListDocument) : undefined;

function itemOf({ info, name }: Asked, answer: ApiResponse): ApiResponse {
  const list = documentOf(answer);
  const item = list?.items[0];
  if (list !== undefined && item !== undefined) return jsonAnswer(200, { ...typeOf(list), ...item });
  throw new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `${info.resource}${info.group === '' ? '' : `.${info.group}`} "${name}" not found`,
    details: { name, kind: info.resource, ...(info.group === '' ? {} : { group: info.group }) },
  });
}

const typeOf = ({ kind, apiVersion }: ListDocument) => ({ apiVersion, kind: kind.replace(/List$/, '') });

/** The initial frames of a watch that begins with the state of this list. */
export function initialFrames({ request }: Asked, answer: ApiResponse): readonly WatchFrame[] {
  const list = documentOf(answer);
  if (list === undefined) return [];
  const added = list.items.map((item) => frameOf({ type: 'ADDED', object: { ...typeOf(list), ...item } }));
  if (!request.query.has('sendInitialEvents')) return added;
  const { resourceVersion } = list.metadata;
  const metadata = {
    resourceVersion,
    creationTimestamp: null,
    annotations: { [INITIAL_EVENTS_END_ANNOTATION]: 'true' },
  };
  return [...added, frameOf({ type: 'BOOKMARK', object: { ...typeOf(list), metadata } })];
}

const tooLarge = (wanted: number, current: number): StatusError =>
  new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
