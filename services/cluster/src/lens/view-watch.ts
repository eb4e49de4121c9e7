import { INITIAL_EVENTS_END_ANNOTATION } from '@holdfast/api';
import type { ApiHandler, ApiRequest, ApiResponse, WatchFrame } from '@holdfast/client';
import { watchAnswer } from './answers.ts';
import type { Asked } from './asked.ts';
import { type HeldView, heldFrames } from './held-view.ts';
import { type FrameUse, type Outlet, through } from './outlet.ts';
import { objectOf } from './point.ts';
import { asJson, freshnessOf, initialFrames, listAt } from './view-reads.ts';

/** Opens a watch that shows only what the view shows. `heed` sees each event before the view judges it. */
export async function watchThroughView(
  asked: Asked,
  next: ApiHandler,
  view: HeldView,
  heed: (frame: WatchFrame) => void = () => {},
): Promise<ApiResponse> {
  const held = view.revision;
  const use = heeding(heldFrames(view), heed);
  if (held === undefined || !beginsWithCachedState(asked)) {
    const answer = await next({ ...asked.request, headers: asJson(asked.request) });
    return gated(answer, startsFresh(asked) ? afterInitial(use) : use);
  }
  const list = await next(listAt(asked, held));
  if (list.status !== 200) return list;
  const answer = await next(watchFrom(asked, held));
  return gated(answer, use, initialFrames(asked, list));
}

function gated(answer: ApiResponse, use: FrameUse, initial: readonly WatchFrame[] = []): ApiResponse {
  if (answer.body.kind !== 'watch') return answer;
  return watchAnswer(following(initial, through(answer.body.frames, use)));
}

/** The initial frames, then the others. */
function following(initial: readonly WatchFrame[], rest: Outlet): AsyncIterable<WatchFrame> {
  if (initial.length === 0) return rest;
  let given = 0;
  const iterator: AsyncIterableIterator<WatchFrame, undefined> = {
    next: () => {
      const value = initial[given++];
      return value === undefined ? rest.next() : Promise.resolve({ done: false, value });
    },
    return: () => rest.return(),
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

const heeding = (use: FrameUse, heed: (frame: WatchFrame) => void): FrameUse => ({
  ...use,
  frame: (frame, outlet) => {
    heed(frame);
    use.frame(frame, outlet);
  },
});

/** Without a revision, or with 0, a watch begins with what the cache has. */
function beginsWithCachedState(asked: Asked): boolean {
  const { kind } = freshnessOf(asked);
  if (asked.request.query.get('sendInitialEvents') === 'false') return false;
  return kind === 'any' || (kind === 'newest' && !asked.request.query.has('sendInitialEvents'));
}

/** A streamed list without a revision waits for the newest state, as a list does. */
const startsFresh = (asked: Asked): boolean =>
  asked.request.query.get('sendInitialEvents') === 'true' && freshnessOf(asked).kind === 'newest';

function afterInitial(use: FrameUse): FrameUse {
  let isOver = false;
  return {
    ...use,
    frame: (frame, outlet) => {
      if (isOver) return use.frame(frame, outlet);
      outlet.push(frame);
      isOver = objectOf(frame.value()).metadata?.annotations?.[INITIAL_EVENTS_END_ANNOTATION] !== undefined;
    },
  };
}

function watchFrom({ request }: Asked, revision: number): ApiRequest {
  const query = new URLSearchParams(request.query);
  query.delete('sendInitialEvents');
  query.delete('resourceVersionMatch');
  query.set('resourceVersion', String(revision));
  return { ...request, query, headers: asJson(request) };
}
