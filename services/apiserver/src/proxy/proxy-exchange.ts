import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError } from '@holdfast/platform';
import { joinValues } from '../http/header-values.ts';
import { KUBELET_ANSWER_MS } from '../limits.ts';

export interface ExchangeTerms {
  readonly clock: Clock;
  /** Makes the error for a server that was not reached, or that did not answer. */
  readonly told: (why: string, cause: Error) => StatusError;
  /** Deadline for the start of the response. */
  readonly answerMs?: number;
}

/** Sends a request on to a server behind this one. Resolves to its answer as it comes, also to one that changes the protocol. */
export function exchangeOverHttp(
  sent: ClientRequest,
  request: ApiRequest,
  { clock, told, answerMs = KUBELET_ANSWER_MS }: ExchangeTerms,
): Promise<ApiResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
  const deadline = clock.timer(answerMs, () => sent.destroy(new Error('i/o timeout')));
  sent.on('error', (error) => reject(told(failureOf(error), error)));
  sent.once('response', (answer) => resolve(streamed(answer)));
  sent.once('upgrade', (answer, socket, head) => resolve(upgraded(answer, socket, head)));
  sent.end(request.body);
  return promise.finally(() => deadline.cancel());
}

/** The failure in Kubernetes' words, which people search for. */
export function failureOf(error: Error): string {
  const {
    code = '',
    syscall = '',
    address,
    port,
  } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const words = SYSTEM_ERRORS.get(code);
  if (words === undefined) return describeError(error);
  if (syscall !== 'connect' || address === undefined) return words;
  return `dial tcp ${address.includes(':') ? `[${address}]` : address}:${port}: connect: ${words}`;
}

const SYSTEM_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'EOF'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'network is unreachable'],
  ['ETIMEDOUT', 'connection timed out'],
]);

/** Kubernetes gives this error no reason. */
export const brokenBackend = (why: string, cause?: unknown): StatusError =>
  new StatusError({ code: 500, message: `error dialing backend: ${why}`, cause });

/** Headers of one connection: some servers offer another protocol, or announce trailers, which end here. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Node makes a list of cookies only, and one line of whatever else comes several times. */
function headersOf({ headers }: IncomingMessage, without: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || without.has(name) ? [] : [[name, Array.isArray(value) ? joinValues(value) : value]],
    ),
  );
}

const streamed = (answer: IncomingMessage): ApiResponse => ({
  status: answer.statusCode ?? 502,
  headers: headersOf(answer, HOP_HEADERS),
  body: { kind: 'stream', chunks: chunksOf(answer) },
});

/** A consumer may start an iteration and stop: the connection must not wait for it. */
const chunksOf = (answer: IncomingMessage): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => {
    const chunks = answer[Symbol.asyncIterator]();
    return {
      next: () => chunks.next(),
      return: async () => {
        answer.destroy();
        return (await chunks.return?.()) ?? { done: true, value: undefined };
      },
    };
  },
});

function upgraded(answer: IncomingMessage, kubelet: Duplex, head: Buffer): ApiResponse {
  // Until it is taken over.
  kubelet.on('error', () => kubelet.destroy());
  if (head.length > 0) kubelet.unshift(head);
  return {
    status: answer.statusCode ?? 101,
    headers: headersOf(answer, NONE),
    body: { kind: 'empty' },
    upgrade: (client, clientHead) => joinConnections(client, clientHead, kubelet),
  };
}

const NONE: ReadonlySet<string> = new Set();

/** From here on this server only passes bytes with back-pressure, and the end of one side ends the other. */
function joinConnections(client: Duplex, clientHead: Uint8Array, other: Duplex): void {
  if (clientHead.length > 0) client.unshift(clientHead);
  for (const [from, to] of [
    [client, other],
    [other, client],
  ] as const) {
    from.on('error', () => from.destroy());
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
}
