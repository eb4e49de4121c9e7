import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { discard } from '../front/answer-bodies.ts';
import { outOfTime } from '../http/out-of-time.ts';

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
  const isOver = (): boolean => ending.signal.aborted;
  const answered = answer({ ...request, signal: ends, isOver, asked: request });
  const late = Promise.withResolvers<never>();
  const deadline = clock.timer(timeoutMs, () => {
    const error = outOfTime();
    late.reject(error);
    ending.abort(error);
    answered.then(({ body }) => discard(body)).catch(() => undefined);
  });
  return Promise.race([answered, late.promise]).finally(() => deadline.cancel());
}
