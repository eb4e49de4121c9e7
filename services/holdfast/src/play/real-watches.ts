import type { ApiHandler, ApiRequest, WatchFrame } from '@holdfast/client';
import type { Clock, Random } from '@holdfast/platform';
import { WATCH_LASTS_MS } from './limits.ts';

/** Longer than any time that is advanced: the API server ends none of these watches by its own clock. */
const NEVER_SECONDS = String(24 * 86_400);

export interface RealWatchesDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The watches of clients outside of a cluster on virtual time end by the clock of these clients: neither never, as time
 * stands still, nor all at once when it is advanced.
 */
export const withRealWatches =
  (handle: ApiHandler, { clock, random }: RealWatchesDeps): ApiHandler =>
  async (request) => {
    const ms = lastsMs(request, random);
    if (ms === undefined) return handle(request);
    const end = new AbortController();
    const timer = clock.timer(ms, () => end.abort());
    const query = new URLSearchParams(request.query);
    query.set('timeoutSeconds', NEVER_SECONDS);
    const signals = request.signal === undefined ? [] : [request.signal];
    const response = await handle({ ...request, query, signal: AbortSignal.any([end.signal, ...signals]) });
    if (response.body.kind === 'watch') {
      return { ...response, body: { kind: 'watch', frames: followed(response.body.frames, () => timer.cancel()) } };
    }
    timer.cancel();
    return response;
  };

/** How long a watch may last. Undefined: it is none, or the API server refuses it. */
function lastsMs({ method, query }: ApiRequest, random: Random): number | undefined {
  if (method !== 'GET' || !['1', 'true'].includes(query.get('watch') ?? '')) return undefined;
  const wanted = query.get('timeoutSeconds') ?? '0';
  if (!/^\d{1,7}$/.test(wanted)) return undefined;
  return Number(wanted) === 0 ? WATCH_LASTS_MS * (1 + random.float()) : Number(wanted) * 1000;
}

async function* followed(frames: AsyncIterable<WatchFrame>, ended: () => void): AsyncGenerator<WatchFrame> {
  try {
    yield* frames;
  } finally {
    ended();
  }
}
