import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { discard } from '../front/answer-bodies.ts';

/** For the work, a client whose time is over has gone. What it is writing by then may be written. */
export function inTime(
  clock: Clock,
  timeoutMs: number,
  request: ApiRequest,
  answer: (request: ApiRequest) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const ending = new AbortController();
  const { signal } = request;
  const ends = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
  const answered = answer({ ...request, signal: ends });
  const late = Promise.withResolvers<never>();
  const deadline = clock.timer(timeoutMs, () => {
    const error = outOfTime();
    late.reject(error);
    ending.abort(error);
    answered.then(({ body }) => discard(body)).catch(() => undefined);
  });
  return Promise.race([answered, late.promise]).finally(() => deadline.cancel());
}

/** In the words of Kubernetes. */
export const outOfTime = (): StatusError =>
  new StatusError({
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: request did not complete within the allotted timeout',
    details: {},
  });
