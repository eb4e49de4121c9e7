import type { ApiResponse } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { AGGREGATED_ANSWER_MS } from '../limits.ts';

/** An answer that is cut off when its end does not come in time. */
export function endedBy(answer: ApiResponse, clock: Clock, cut: () => void): ApiResponse {
  const { body } = answer;
  if (body.kind !== 'stream') return answer;
  return { ...answer, body: { kind: 'stream', chunks: chunksInTime(body.chunks, clock, cut) } };
}

function chunksInTime(chunks: AsyncIterable<Uint8Array>, clock: Clock, cut: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const inner = chunks[Symbol.asyncIterator]();
      const deadline = clock.timer(AGGREGATED_ANSWER_MS, cut);
      return {
        next: async () => {
          try {
            const result = await inner.next();
            if (result.done === true) deadline.cancel();
            return result;
          } catch (error) {
            deadline.cancel();
            throw error;
          }
        },
        return: async () => {
          deadline.cancel();
          return (await inner.return?.()) ?? { done: true, value: undefined };
        },
      };
    },
  };
}
