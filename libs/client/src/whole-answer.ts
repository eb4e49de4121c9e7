import { STREAMED_ANSWER_BYTES_MAX } from './limits.ts';
import { type ApiResponse, TransportError } from './transport/port.ts';

/**
 * In the API server's own process, responses of aggregated servers arrive as streams. Typed calls need the whole
 * document.
 */
export async function wholeAnswer(response: ApiResponse): Promise<ApiResponse> {
  const { status, headers, body } = response;
  if (body.kind !== 'stream') return response;
  const bytes = await collect(body.chunks);
  const text = new TextDecoder().decode(bytes);
  const contentType = headers['content-type'] ?? '';
  if (!contentType.includes('json')) return { status, headers, body: { kind: 'text', contentType, text } };
  const value = parsed(text);
  return { status, headers, body: { kind: 'json', bytes: () => bytes, value: () => value } };
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const collected: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > STREAMED_ANSWER_BYTES_MAX) {
      throw new TransportError(`the answer has more than ${STREAMED_ANSWER_BYTES_MAX} bytes`);
    }
    collected.push(chunk);
  }
  return Buffer.concat(collected);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TransportError('the answer is not JSON', { cause: error });
  }
}
