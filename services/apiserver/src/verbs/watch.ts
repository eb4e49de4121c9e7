import type { ResourceDefinition } from '@holdfast/api';
import type { ApiRequest, ApiResponse, WatchFrame } from '@holdfast/client';
import { catchUp } from '../cache/reader.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { Selection } from '../cache/selection.ts';
import { Watcher } from '../cache/watcher.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { type ListOptions, readListOptions } from '../http/list-options.ts';
import { includeObject } from '../http/object-answer.ts';
import { waitForRevision } from '../http/wait-for-revision.ts';
import {
  BOOKMARK_INTERVAL_MS,
  WATCH_TIMEOUT_MAX_MS,
  WATCH_TIMEOUT_MIN_MS,
  WATCHER_QUEUE_FRAMES_MAX,
} from '../limits.ts';
import { storedNameOf } from '../objects/stored-object.ts';
import { convertedFrames, waitingFrame } from './converted-frames.ts';
import { judgeAhead } from './judge-ahead.ts';
import { seenNotes } from './note-seen.ts';
import { expiredFrame, type Rendering, renderingFor } from './watch-frames.ts';

export async function watch(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const options = readListOptions(core, context.request.query, context.info, definition);
  // The first row would be too late: the watch is open by then.
  if (context.representation.shape === 'table') includeObject(context.request.query.get('includeObject'));
  const stored = storedNameOf(definition);
  const cacheNow = (): ResourceCache => core.cache.resource(stored.group, stored.plural);
  core.watchPlaces.refuseTooMany(context.user);
  await core.lineage.admit(context.request, options.resourceVersion);
  await waitForStart(core, options);
  const turn = core.turns.goOn(context.user);
  if (turn !== undefined) await turn;
  const { selection } = options;
  const candidates = selection.beforeConversion ?? selection;
  const judged = startsNow(options)
    ? judgeAhead(core, context.user, cacheNow(), { selection: candidates })
    : candidates;
  const initial = judged instanceof Promise ? await judged : judged;
  const opening = { definition, options, cache: cacheNow(), initial };
  return {
    status: 200,
    headers: { 'content-type': context.representation.contentType },
    body: { kind: 'watch', frames: openFrames(core, context, opening) },
  };
}

/** Begins with the present state. */
const startsNow = ({ sendInitialEvents, resourceVersion = 0 }: ListOptions): boolean =>
  sendInitialEvents ?? resourceVersion === 0;

interface Opening {
  readonly definition: ResourceDefinition;
  readonly options: ListOptions;
  /** Taken when the watch opens: while the request waited, the cache may have been loaded again. */
  readonly cache: ResourceCache;
  /** The selection of the initial state: without fields that need a webhook conversion. */
  readonly initial: Selection;
}

/**
 * A revision that does not come for a while is refused: data that went back would leave its watcher without a word for as long as they take
 * to come there again.
 */
async function waitForStart(core: Core, options: ListOptions): Promise<void> {
  if (options.resourceVersion === undefined) await catchUp(core);
  else if (options.resourceVersion > core.cache.revision) await waitForRevision(core, options.resourceVersion);
}

/** Synchronous from here on, so that no change falls between the initial state and the first event. */
function openFrames(core: Core, context: ResourceContext, opening: Opening): AsyncIterable<WatchFrame> {
  const { options, cache } = opening;
  const fromNow = startsNow(options);
  const noHistory = options.sendInitialEvents === false && (options.resourceVersion ?? 0) === 0;
  const after = fromNow || noHistory ? core.cache.revision : (options.resourceVersion ?? 0);
  const missed = fromNow || noHistory ? [] : cache.since(after);
  if (missed === undefined) return once(expiredFrame(context, after, core.cache.revision));
  const rendering = renderingFor(core, context, opening.definition);
  const isConverted = opening.definition.custom?.conversion === 'Webhook';
  const change = isConverted ? waitingFrame : rendering.change;
  const { selection } = options;
  const candidates = selection.beforeConversion ?? selection;
  const following = { ...opening, options: { ...options, selection: candidates } };
  const watcher = openWatcher(core, context, { ...following, rendering: { ...rendering, change }, after });
  if (fromNow) {
    watcher.offerInitial(cache.list({ selection: opening.initial })?.objects ?? []);
    seenNotes(core, context, opening.definition)?.(after);
  }
  for (const event of missed) watcher.offer(event);
  const offered = { request: context.request, watcher, rendering, after };
  if (options.bookmarks) offerBookmark(core, { ...offered, endsInitial: options.sendInitialEvents === true });
  const { definition } = opening;
  return isConverted ? convertedFrames(core, { definition, watcher, rendering, selection }) : watcher;
}

interface Following extends Opening {
  readonly rendering: Rendering;
  /** The revision that the client has seen. */
  readonly after: number;
}

function openWatcher(core: Core, context: ResourceContext, following: Following): Watcher {
  const { options, cache, rendering, after } = following;
  const leave = core.watchPlaces.take(context.user);
  const end = (): void => watcher.end();
  const timeout = core.clock.timer(watchTimeoutMs(core, options), end);
  const bookmarks = options.bookmarks
    ? regularly(core, () =>
        offerBookmark(core, { request: context.request, watcher, rendering, after, endsInitial: false }),
      )
    : undefined;
  const { signal } = context.request;
  const watcher = new Watcher({
    selection: options.selection,
    after,
    queueFramesMax: WATCHER_QUEUE_FRAMES_MAX,
    render: rendering.change,
    delivered: seenNotes(core, context, following.definition),
    broken: (reason) => core.log.error('a watch was cut: it would have missed a change', { reason }),
    onEnd: () => {
      leave();
      cache.watchers.delete(watcher);
      timeout.cancel();
      bookmarks?.cancel();
      signal?.removeEventListener('abort', cut);
    },
  });
  const cut = (): void => watcher.cut();
  cache.watchers.add(watcher);
  if (signal?.aborted === true) watcher.cut();
  else signal?.addEventListener('abort', cut, { once: true });
  return watcher;
}

/** A negative time ends immediately. */
function watchTimeoutMs(core: Core, { timeoutSeconds = 0 }: ListOptions): number {
  if (timeoutSeconds !== 0) return Math.min(Math.max(timeoutSeconds * 1000, 0), WATCH_TIMEOUT_MAX_MS);
  // Spreads the reconnects of watches that began together; the bytes of the uuid are as good as any other source.
  const spread = Number.parseInt(core.ids.uuid().slice(0, 8), 16) / 0xffff_ffff;
  return WATCH_TIMEOUT_MIN_MS * (1 + spread);
}

/**
 * A bookmark is queued behind every event up to its revision, so it never promises too much; nor does it lead a client
 * back that asked for a revision which is still to come. The first follows what the client missed: it has caught up.
 */
function offerBookmark(core: Core, offered: OfferedBookmark): void {
  const { revision, current } = core.cache;
  const { watcher, rendering, after, endsInitial } = offered;
  if (!endsInitial && (!current || revision < after)) return;
  const annotations = core.lineage.annotations(offered.request, revision);
  watcher.promise(() => rendering.bookmark({ revision, endsInitial, annotations }), revision);
}

interface OfferedBookmark {
  readonly request: ApiRequest;
  readonly watcher: Watcher;
  readonly rendering: Rendering;
  readonly after: number;
  readonly endsInitial: boolean;
}

function regularly(core: Core, act: () => void): { cancel: () => void } {
  let timer = core.clock.timer(BOOKMARK_INTERVAL_MS, tick);
  function tick(): void {
    act();
    timer = core.clock.timer(BOOKMARK_INTERVAL_MS, tick);
  }
  return { cancel: () => timer.cancel() };
}

async function* once(frame: WatchFrame): AsyncIterable<WatchFrame> {
  yield frame;
}
