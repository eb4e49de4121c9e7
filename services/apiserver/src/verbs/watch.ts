import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse, WatchFrame } from '@holdfast/client';
import { partialObjectMetadata, StatusError } from '@holdfast/machinery';
import { objectFrame, plainFrame } from '../cache/cache-event.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import { type RenderFrame, shareFrame, Watcher } from '../cache/watcher.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { type ListOptions, readListOptions } from '../http/list-options.ts';
import { formVersionOf, tableFor } from '../http/object-answer.ts';
import { waitForRevision } from '../http/wait-for-revision.ts';
import {
  BOOKMARK_INTERVAL_MS,
  WATCH_TIMEOUT_MAX_MS,
  WATCH_TIMEOUT_MIN_MS,
  WATCHER_QUEUE_FRAMES_MAX,
  WATCHERS_MAX,
} from '../limits.ts';
import { catchUp } from '../reader.ts';
import { groupVersion } from '../served.ts';
import { asServed, storedNameOf } from '../stored-form.ts';

export async function watch(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const options = readListOptions(context.request.query, context.info, definition);
  const stored = storedNameOf(definition);
  const cache = core.cache.resource(stored.group, stored.plural);
  refuseTooMany(core);
  await waitForStart(core, options);
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: { kind: 'watch', frames: openFrames(core, context, { definition, options, cache }) },
  };
}

interface Opening {
  readonly definition: ResourceDefinition;
  readonly options: ListOptions;
  readonly cache: ResourceCache;
}

async function waitForStart(core: Core, options: ListOptions): Promise<void> {
  if (options.resourceVersion === undefined) await catchUp(core);
  else if (options.sendInitialEvents === true) await waitForRevision(core, options.resourceVersion);
}

/** From here on everything is synchronous, so that no change falls between the initial state and the first event. */
function openFrames(core: Core, context: ResourceContext, opening: Opening): AsyncIterable<WatchFrame> {
  const { options, cache } = opening;
  const fromNow = options.sendInitialEvents ?? (options.resourceVersion ?? 0) === 0;
  const noHistory = options.sendInitialEvents === false && (options.resourceVersion ?? 0) === 0;
  const after = fromNow || noHistory ? core.cache.revision : (options.resourceVersion ?? 0);
  const missed = fromNow || noHistory ? [] : cache.since(after);
  if (missed === undefined) return once(expiredFrame(after, core.cache.revision));
  const watcher = openWatcher(core, context, opening, after);
  if (fromNow) watcher.offerInitial(cache.list({ selection: options.selection })?.objects ?? []);
  for (const event of missed) watcher.offer(event);
  if (options.bookmarks)
    offerBookmark(core, watcher, opening, { after, endsInitial: options.sendInitialEvents === true });
  return watcher;
}

function openWatcher(core: Core, context: ResourceContext, opening: Opening, after: number): Watcher {
  const { options, cache, definition } = opening;
  const end = (): void => watcher.end();
  const timeout = core.clock.timer(watchTimeoutMs(core, options), end);
  const bookmarks = options.bookmarks
    ? regularly(core, () => offerBookmark(core, watcher, opening, { after, endsInitial: false }))
    : undefined;
  const { signal } = context.request;
  const watcher = new Watcher({
    selection: options.selection,
    after,
    queueFramesMax: WATCHER_QUEUE_FRAMES_MAX,
    render: rendererFor(core, context, definition),
    onEnd: () => {
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

/** A time below zero is over at once. */
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
function offerBookmark(
  core: Core,
  watcher: Watcher,
  { definition }: Opening,
  { after, endsInitial }: { readonly after: number; readonly endsInitial: boolean },
): void {
  const { revision, current } = core.cache;
  if (endsInitial || (current && revision >= after)) watcher.enqueue(() => bookmark(definition, revision, endsInitial));
}

function regularly(core: Core, act: () => void): { cancel: () => void } {
  let timer = core.clock.timer(BOOKMARK_INTERVAL_MS, tick);
  function tick(): void {
    act();
    timer = core.clock.timer(BOOKMARK_INTERVAL_MS, tick);
  }
  return { cancel: () => timer.cancel() };
}

function bookmark(definition: ResourceDefinition, revision: number, initialEventsEnd: boolean): WatchFrame {
  return plainFrame({
    type: 'BOOKMARK',
    object: {
      kind: definition.kind,
      apiVersion: groupVersion(definition),
      metadata: {
        resourceVersion: String(revision),
        creationTimestamp: null,
        ...(initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
      },
    },
  });
}

function rendererFor(core: Core, context: ResourceContext, definition: ResourceDefinition): RenderFrame {
  const { form } = context.representation;
  const served = (object: CachedObject): CachedObject => asServed(definition, object);
  const apiVersion = formVersionOf(context);
  if (form === 'partial' || form === 'partial list') {
    return (type, object) => plainFrame({ type, object: partialObjectMetadata(served(object).object, apiVersion) });
  }
  if (form === 'object') {
    return definition.storedAs === undefined ? shareFrame : (type, object) => objectFrame(type, served(object));
  }
  let first = true;
  return (type, object) => {
    const metadata = { resourceVersion: String(object.revision) };
    const table = tableFor(core, context, definition, { objects: [served(object)], metadata, withoutColumns: !first });
    first = false;
    return plainFrame({ type, object: table });
  };
}

function expiredFrame(revision: number, current: number): WatchFrame {
  const { body } = new StatusError({
    code: 410,
    reason: 'Expired',
    message: `too old resource version: ${revision} (${current})`,
  });
  return plainFrame({ type: 'ERROR', object: body });
}

async function* once(frame: WatchFrame): AsyncIterable<WatchFrame> {
  yield frame;
}

function refuseTooMany(core: Core): void {
  const open = core.cache.resources().reduce((sum, cache) => sum + cache.watchers.size, 0);
  if (open < WATCHERS_MAX) return;
  throw new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: `too many watches are open (${open}); try again later`,
    details: { retryAfterSeconds: 5 },
  });
}
