import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '@holdfast/platform';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import { AGENT_ANSWER_BYTES_MAX, AGENT_WORDS_CHARS_MAX } from '../limits.ts';
import { withDeadline } from './deadline.ts';
import type { FenceAgent } from './port.ts';
import { decodeAnswer, encodeRequest } from './wire.ts';

export interface HttpAgentOptions {
  readonly name: string;
  readonly url: string;
  /** Read at every question, so that it can be replaced. */
  readonly tokenFile: string | undefined;
  readonly caFile: string | undefined;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Posts every question to one address: the request as the body, the answer as the body of a 200. */
export const createHttpAgent = (options: HttpAgentOptions): FenceAgent => ({
  name: options.name,
  ask: (request, signal) =>
    withDeadline(options, signal, async (deadline) => {
      const answer = await post(options, encodeRequest(request), deadline.signal);
      return decodeAnswer(answer, request.requestId);
    }),
});

async function post(options: HttpAgentOptions, body: string, signal: AbortSignal): Promise<string> {
  const url = new URL(options.url);
  const { request } = url.protocol === 'https:' ? nodeHttps() : nodeHttp();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request(
    url,
    { method: 'POST', signal, headers: headersOf(options), ...caOf(options) },
    (response) => void readAnswer(response).then(resolve, reject),
  );
  sent.once('error', reject);
  sent.end(body);
  return promise;
}

function headersOf({ tokenFile }: HttpAgentOptions): Record<string, string> {
  const plain = { 'content-type': 'application/json', accept: 'application/json' };
  if (tokenFile === undefined) return plain;
  return { ...plain, authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };
}

const caOf = ({ caFile }: HttpAgentOptions): { readonly ca?: Buffer } =>
  caFile === undefined ? {} : { ca: readFileSync(caFile) };

async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    const buffer = Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > AGENT_ANSWER_BYTES_MAX) throw new Error('the answer of the agent is too large');
    chunks.push(buffer);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (response.statusCode === 200) return text;
  throw new Error(`the agent answered with status ${response.statusCode}: ${text.slice(0, AGENT_WORDS_CHARS_MAX)}`);
}
