import { readFileSync } from 'node:fs';
import type { Clock } from '@holdfast/platform';
import { nodeHttp, nodeHttps, readOkText } from '@holdfast/platform/http';
import { AGENT_ANSWER_BYTES_MAX } from '../limits.ts';
import { withDeadline } from './deadline.ts';
import type { FenceAgent } from './port.ts';
import { decodeAnswer, encodeRequest } from './wire.ts';

export interface HttpAgentOptions {
  readonly name: string;
  readonly url: string;
  /** Read for every request, so that it can be replaced. */
  readonly tokenFile: string | undefined;
  readonly caFile: string | undefined;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Posts every request to one address: the request is the body, and the answer is the body of a 200. */
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
    (response) => void readOkText(response, 'the agent', AGENT_ANSWER_BYTES_MAX).then(resolve, reject),
  );
  sent.on('error', reject);
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
