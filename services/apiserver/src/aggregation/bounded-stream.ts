import type { ApiResponse } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { AGGREGATED_ANSWER_MS } from '../limits.ts';

/** An answer that is cut off when its end does not come in time. */
export function endedBy(answer: ApiResponse, clock: Clock, cut: () => void): ApiResponse {
  const { body } = answer;
  if (body.kind !== 'stream') return answer;
  return { ...answer, body: { kind: 'stream', chunks: chunksInTime(body.chunks, clock, cut) } };
}

async function* chunksInTime(
  chunks: AsyncIterable<Uint8Array>,
  clock: Clock,
  cut: () => void,
): AsyncGenerator<Uint8Array> {
  const deadline = clock.timer(AGGREGATED_ANSWER_MS, cut);
  try {
    yield* chunks;
  } finally {
    deadline.cancel();
  }
}
