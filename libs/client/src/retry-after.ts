import type { Clock } from '@holdfast/platform';
import { REQUEST_DEADLINE_MS, TURNED_AWAY_REPEATS_MAX } from './limits.ts';
import { type ApiResponse, TransportError } from './transport/port.ts';

/**
 * As client-go does: who is turned away and told when to come back comes back then. A request that is answered with 429 had no effect, so any
 * may be sent again. What would last longer than one request may is left to the caller, as is everything that is no 429.
 */
export async function askPatiently(
  ask: () => Promise<ApiResponse>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<ApiResponse> {
  const response = await ask();
  return response.status === 429 ? askAgain(response, ask, { clock, signal }) : response;
}

async function askAgain(
  first: ApiResponse,
  ask: () => Promise<ApiResponse>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<ApiResponse> {
  const endMs = clock.monotonic() + REQUEST_DEADLINE_MS;
  let response = first;
  for (let repeats = 0; repeats < TURNED_AWAY_REPEATS_MAX; repeats++) {
    const waitMs = waitOf(response);
    if (waitMs === undefined || clock.monotonic() + waitMs > endMs) return response;
    try {
      await clock.sleep(waitMs, signal);
    } catch (cause) {
      throw new TransportError('the request was aborted', { cause, possiblySent: false });
    }
    response = await ask();
  }
  return response;
}

/** What comes as a stream would have to be read to its end. */
function waitOf({ status, headers, body }: ApiResponse): number | undefined {
  const seconds = headers['retry-after'];
  if (status !== 429 || seconds === undefined || !/^\d{1,5}$/.test(seconds)) return undefined;
  return body.kind === 'stream' || body.kind === 'watch' ? undefined : Number(seconds) * 1_000;
}
