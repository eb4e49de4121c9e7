import type { ClientRequest } from 'node:http';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { streamedAnswer, upgradedAnswer } from '@holdfast/client/streamed-answer';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError } from '@holdfast/platform';
import { asksForUpgrade } from '@holdfast/platform/websocket';
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
  sent.once('response', (answer) => resolve(streamedAnswer(answer, joinValues)));
  sent.once('upgrade', (answer, socket, head) => {
    if (asksForProtocol(request)) return resolve(upgradedAnswer(answer, { socket, head, clock }, joinValues));
    // Nobody takes the connection over who asked for no other protocol, and nothing else would close it.
    socket.destroy();
    const cause = new Error('the server changed the protocol unasked');
    reject(told(cause.message, cause));
  });
  sent.end(request.body);
  return promise.finally(() => deadline.cancel());
}

/** A header `upgrade` that `connection` does not name asks for nothing. */
const asksForProtocol = ({ headers }: ApiRequest): boolean =>
  headers['upgrade'] !== undefined && asksForUpgrade(headers);

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
