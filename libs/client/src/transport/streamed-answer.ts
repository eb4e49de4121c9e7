import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform/clock';
import { JOINED_DRAIN_MS } from '../limits.ts';
import type { ApiResponse } from './port.ts';

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
const NONE: ReadonlySet<string> = new Set();

/** Makes one string of the values of a header that came several times. */
export type JoinValues = (values: readonly string[]) => string;

/** Node makes a list of cookies only, and one line of whatever else comes several times. */
function headersOf({ headers }: IncomingMessage, without: ReadonlySet<string>, join: JoinValues) {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || without.has(name) ? [] : [[name, Array.isArray(value) ? join(value) : value]],
    ),
  );
}

/** The answer of a server behind this one, as it comes. */
export const streamedAnswer = (answer: IncomingMessage, join: JoinValues): ApiResponse => ({
  status: answer.statusCode ?? 502,
  headers: headersOf(answer, HOP_HEADERS, join),
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

/** A connection whose protocol has changed. */
export interface Upgraded {
  readonly socket: Duplex;
  /** What came behind the answer. */
  readonly head: Buffer;
  readonly clock: Clock;
}

/** The answer of a server behind this one that changes the protocol of its connection. */
export function upgradedAnswer(
  answer: IncomingMessage,
  { socket: other, head, clock }: Upgraded,
  join: JoinValues,
): ApiResponse {
  // Until it is taken over.
  other.on('error', () => other.destroy());
  if (head.length > 0) other.unshift(head);
  return {
    status: answer.statusCode ?? 101,
    headers: headersOf(answer, NONE, join),
    body: { kind: 'empty' },
    upgrade: (client, clientHead) => {
      if (clientHead.length > 0) client.unshift(clientHead);
      joinConnections(client, other, clock);
    },
  };
}

/** From here on this server only passes bytes with back-pressure, and the end of one side ends the other. */
function joinConnections(client: Duplex, other: Duplex, clock: Clock): void {
  for (const [from, to] of [
    [client, other],
    [other, client],
  ] as const) {
    from.on('error', () => from.destroy());
    from.once('close', () => (from.readableEnded ? drain(to, clock) : to.destroy()));
    from.pipe(to);
  }
}

/** A side that is slower than the one that has ended still gets the rest, if it takes it. */
function drain(to: Duplex, clock: Clock): void {
  if (to.destroyed) return;
  const deadline = clock.timer(JOINED_DRAIN_MS, () => to.destroy());
  to.once('close', () => deadline.cancel());
  to.end(() => to.destroy());
}
