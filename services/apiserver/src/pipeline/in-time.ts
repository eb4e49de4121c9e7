import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { BoundedRequest } from './bounded-request.ts';

/** What the work is writing when the time is over may be written. */
export function inTime(
  clock: Clock,
  timeoutMs: number,
  request: ApiRequest,
  answer: (request: ApiRequest) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const bounded = new BoundedRequest(request);
  const answered = answer(bounded.request);
  const late = Promise.withResolvers<never>();
  const deadline = clock.timer(timeoutMs, () => late.reject(bounded.end(answered)));
  return Promise.race([answered, late.promise]).finally(() => deadline.cancel());
}
