import type { Clock } from '@holdfast/platform';
import { REQUEST_DEADLINE_MS, TURNED_AWAY_REPEATS_MAX } from './limits.ts';
import { type ApiResponse, TransportError } from './transport/port.ts';

/**
 * Repeats a request that was rejected with 429 and a Retry-After, after that time, as client-go does. A request with a
 * 429 response had no effect, so any request may be repeated. The caller gets the response when the wait exceeds the
 * deadline of one request, or when it is not a 429.
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

/** A stream would have to be read to its end. */
function waitOf({ status, headers, body }: ApiResponse): number | undefined {
  const seconds = headers['retry-after'];
  if (status !== 429 || seconds === undefined || !/^\d{1,5}$/.test(seconds)) return undefined;
  return body.kind === 'stream' || body.kind === 'watch' ? undefined : Number(seconds) * 1_000;
}
