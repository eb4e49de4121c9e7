import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse, JsonPieces } from '@holdfast/client';
import { badRequest, deepFreeze, expired, StatusError, type Table } from '@holdfast/machinery';
import type { StoreKey } from '@holdfast/store';
import type { User } from '../authentication/identity.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { catchUp } from '../cache/reader.ts';
import type { ListResult, ResourceCache } from '../cache/resource-cache.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { type ContinueToken, decodeContinue, encodeContinue, LATEST } from '../http/continue-token.ts';
import { type ListOptions, readListOptions } from '../http/list-options.ts';
import { otherShape } from '../http/negotiation.ts';
import { type Item, inPieces, joined } from '../http/pieces.ts';
import { protobufListAnswer } from '../http/protobuf.ts';
import { waitForRevision } from '../http/wait-for-revision.ts';
import { convertAhead, convertCandidates } from '../kinds/conversion.ts';
import { LIST_PAGES_MS } from '../limits.ts';
import { groupVersion, listKindOf } from '../objects/object-keys.ts';
import { asServed, storedNameOf } from '../objects/stored-object.ts';
import { mapInTurns } from '../turns/map-in-turns.ts';
import { judgeAhead } from './judge-ahead.ts';
import { partialListAnswer, tableAnswer, yamlListAnswer } from './long-lists.ts';
import { seenNotes } from './note-seen.ts';

export async function list(core: Core, context: ResourceContext, definition: ResourceDefinition): Promise<ApiResponse> {
  const options = readListOptions(core, context.request.query, context.info, definition);
  await core.lineage.admit(context.request);
  const page = await readPage(core, options, definition, context.user);
  seenNotes(core, context, definition)?.(page.revision);
  const seen = core.lineage.headers(context.request, page.revision);
  const answer = await listAnswer(core, context, definition, page);
  return { ...answer, headers: { ...answer.headers, ...seen } };
}

export interface Page extends ListResult {
  readonly revision: number;
  /** The time of the first page's request. */
  readonly since: number;
}

/** One page of a list at the revision of the options. */
export async function readPage(
  core: Core,
  options: ListOptions,
  definition: ResourceDefinition,
  user: User,
): Promise<Page> {
  const start = await startOf(core, options);
  // Many requests that waited for the same revision continue at the same time.
  const turn = core.turns.goOn(user);
  if (turn !== undefined) await turn;
  const stored = storedNameOf(definition);
  const cacheNow = (): ResourceCache => core.cache.resource(stored.group, stored.plural);
  const at = {
    ...(start.after === undefined ? {} : { after: start.after }),
    ...(start.atRevision === undefined ? {} : { atRevision: start.atRevision }),
  };
  const { selection, limit } = options;
  const { beforeConversion } = selection;
  const query = { ...at, ...(limit === undefined ? {} : { limit }) };
  if (beforeConversion !== undefined) {
    await convertCandidates(
      core,
      definition,
      () => cacheNow().list({ selection: beforeConversion, ...at })?.objects ?? [],
    );
  }
  const judged =
    beforeConversion === undefined ? judgeAhead(core, user, cacheNow(), { selection, ...query }) : selection;
  const decided = judged instanceof Promise ? await judged : judged;
  // The cache may have been loaded again in the meantime: objects and revision are of one cache.
  const result = cacheNow().list({ ...query, selection: decided });
  if (result === undefined) throw start.after === undefined ? stateIsOver() : pagesAreOver(start.after);
  // The cache continues during a webhook conversion: the revision is that of the objects.
  const revision = start.atRevision ?? core.cache.revision;
  const converting = convertAhead(core, definition, result.objects);
  if (converting !== undefined) await converting;
  const objects =
    definition.storedAs === undefined && definition.custom === undefined
      ? result.objects
      : await mapInTurns({ turns: core.turns, user }, result.objects, (each) => asServed(definition, each));
  return {
    ...result,
    objects,
    revision,
    since: start.since ?? core.clock.now(),
  };
}

interface Start {
  readonly after?: string;
  readonly atRevision?: number;
  readonly since?: number;
}

async function startOf(core: Core, options: ListOptions): Promise<Start> {
  if (options.continueToken !== undefined) {
    const token = decodeContinue(options.continueToken);
    if ((options.resourceVersion ?? 0) !== 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    return pageAfter(core, token);
  }
  if (options.resourceVersion === undefined) {
    await catchUp(core);
    return {};
  }
  await waitForRevision(core, options.resourceVersion);
  // A limited list with a revision means "exactly this state", for clients from before the match option.
  const isExact = options.match === 'Exact' || (options.match === undefined && options.limit !== undefined);
  return isExact ? { atRevision: options.resourceVersion } : {};
}

async function pageAfter(core: Core, { revision, after, since }: ContinueToken): Promise<Start> {
  if (revision === LATEST) {
    await catchUp(core);
    return { after };
  }
  if (core.clock.now() - since > LIST_PAGES_MS) throw pagesAreOver(after);
  await waitForRevision(core, revision);
  return { after, atRevision: revision, since };
}

/**
 * The token in the response continues after the last page with the then current state. Clients recognize it by this
 * message.
 */
const pagesAreOver = (after: StoreKey): StatusError =>
  new StatusError({
    code: 410,
    reason: 'Expired',
    message:
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    metadata: { continue: encodeContinue({ revision: LATEST, after, since: 0 }) },
  });

const stateIsOver = (): StatusError => expired('The resourceVersion for the provided list is too old.');

export function listAnswer(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  page: Page,
): ApiResponse | Promise<ApiResponse> {
  const { representation } = context;
  const metadata = listMetadata(page);
  switch (representation.shape) {
    case 'table':
      return tableAnswer(core, context, definition, { objects: page.objects, metadata });
    case 'partial':
      throw otherShape('PartialObjectMetadata', definition);
    case 'partial list':
      return partialListAnswer(core, context, { objects: page.objects, metadata });
    case 'object':
      if (definition.custom !== undefined) return customListAnswer(core, context, definition, page);
      if (representation.encoding === 'yaml') return yamlList(core, context, definition, { page, metadata });
      if (representation.encoding === 'protobuf') {
        const value = (): unknown => listValue(definition, page, metadata);
        return protobufListAnswer({ definition, objects: page.objects, metadata, value });
      }
      return {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: {
          kind: 'json',
          bytes: () => listBytes(definition, page.objects, metadata),
          pieces: () => listPieces(definition, page.objects, metadata),
          value: () => listValue(definition, page, metadata),
        },
      };
  }
}

function yamlList(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  { page, metadata }: { readonly page: Page; readonly metadata: ListMetadata },
): ApiResponse | Promise<ApiResponse> {
  const head = { kind: listKindOf(definition), apiVersion: groupVersion(definition), metadata };
  return yamlListAnswer(core, context, head, page.objects);
}

/** Its items say what they are, and its metadata that nothing follows. */
function customListAnswer(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  page: Page,
): ApiResponse | Promise<ApiResponse> {
  const metadata = { continue: '', ...listMetadata(page) };
  const value = (): unknown => listValue(definition, page, metadata);
  if (context.representation.encoding === 'yaml') return yamlList(core, context, definition, { page, metadata });
  const items = page.objects.map(wholeItem);
  const head = JSON.stringify({ kind: listKindOf(definition), apiVersion: groupVersion(definition), metadata });
  const list = { head: Buffer.from(`${head.slice(0, -1)},"items":[`), items, tail: LIST_END };
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: { kind: 'json', bytes: () => joined(inPieces(list)), pieces: () => inPieces(list), value },
  };
}

const wholeItem = (object: CachedObject): Item => ({
  get bytes() {
    return object.bytes;
  },
  lend: () => object.lend(),
  byteLength: object.byteLength,
  metadataAt: WHOLE_ITEM,
});

/** Behind the opening brace. */
const WHOLE_ITEM = 1;

type ListMetadata = Table['metadata'];

function listMetadata(page: Page): ListMetadata {
  return {
    resourceVersion: String(page.revision),
    ...(page.lastKey === undefined
      ? {}
      : { continue: encodeContinue({ revision: page.revision, after: page.lastKey, since: page.since }) }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
}

const listBytes = (
  definition: ResourceDefinition,
  objects: readonly CachedObject[],
  metadata: ListMetadata,
): Uint8Array => joined(listPieces(definition, objects, metadata));

/** The bytes of the objects as they are: nothing is parsed or encoded for a list. */
function listPieces(
  definition: ResourceDefinition,
  objects: readonly CachedObject[],
  metadata: ListMetadata,
): JsonPieces {
  const head = JSON.stringify({ kind: listKindOf(definition), apiVersion: groupVersion(definition), metadata });
  return inPieces({ head: Buffer.from(`${head.slice(0, -1)},"items":[`), items: objects, tail: LIST_END });
}

const LIST_END = Buffer.from(']}');

/** In-process readers share the cache's objects, which carry their kind. */
function listValue(definition: ResourceDefinition, page: Page, metadata: ListMetadata): unknown {
  return deepFreeze({
    kind: listKindOf(definition),
    apiVersion: groupVersion(definition),
    metadata,
    items: page.objects.map((object) => object.object),
  });
}
