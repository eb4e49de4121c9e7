import type { Duplex } from 'node:stream';
import type { ApiRequest, ApiResponse, ResponseBody, WatchFrame } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Log } from '@holdfast/platform';
import {
  acceptWebSocket,
  asksForWebSocket,
  CLOSE_CODE,
  offeredProtocols,
  webSocketHeaders,
} from '@holdfast/platform/websocket';
import type { ResourceRequest } from './request-info.ts';

type Encode = (bytes: Uint8Array) => { readonly payload: Uint8Array; readonly kind: 'binary' | 'text' };

const asBytes: Encode = (payload) => ({ payload, kind: 'binary' });
const asText: Encode = (payload) => ({ payload, kind: 'text' });
const asBase64: Encode = (bytes) => ({ payload: Buffer.from(Buffer.from(bytes).toString('base64')), kind: 'text' });
/** A message needs no length in front of the event. */
const asProtobuf: Encode = (bytes) => asBytes(bytes.subarray(PROTOBUF_LENGTH_BYTES));

const PROTOBUF_LENGTH_BYTES = 4;

const LOG_PROTOCOLS: ReadonlyMap<string, Encode> = new Map([
  ['', asBytes],
  ['binary.k8s.io', asBytes],
  ['base64.binary.k8s.io', asBase64],
]);

/** Messages of a longer chunk are cut: clients read whole messages. */
const MESSAGE_BYTES = 32 * 1024;

/** Watches and logs can be upgraded to WebSocket. Command streams have their own protocols with kubelets. */
export const isForWebSocket = ({ headers }: ApiRequest, { verb, subresource }: ResourceRequest): boolean =>
  headers['upgrade'] !== undefined && (verb === 'watch' || subresource === 'log') && asksForWebSocket(headers);

/** The answer as messages of a WebSocket: one for each event of a watch, or for each piece of a log. Refusals stay what they are. */
export function overWebSocket(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  { headers }: ApiRequest,
  response: ApiResponse,
): ApiResponse {
  const { body, status } = response;
  if (status !== 200 || body.kind === 'json') return response;
  const { protocol, encode } = body.kind === 'watch' ? watchProtocol(headers, response) : logProtocol(headers);
  const answer = webSocketHeaders(headers, protocol);
  if (answer === undefined) {
    throw badRequest('the WebSocket handshake needs Sec-WebSocket-Key and Sec-WebSocket-Version: 13');
  }
  return {
    status: 101,
    headers: answer,
    body: { kind: 'empty' },
    upgrade: (socket, head) => {
      send({ socket, head, clock }, body, encode).catch((error: unknown) => {
        log.warn('a stream over WebSocket broke', { error: describeError(error) });
        socket.destroy();
      });
    },
  };
}

interface Chosen {
  readonly protocol: string;
  readonly encode: Encode;
}

/** Watches have no sub-protocol of their own: the client's first one is agreed to. */
const watchProtocol = (headers: ApiRequest['headers'], response: ApiResponse): Chosen => ({
  protocol: offeredProtocols(headers)[0] ?? '',
  encode: response.headers['content-type']?.includes('protobuf') === true ? asProtobuf : asText,
});

function logProtocol(headers: ApiRequest['headers']): Chosen {
  const offered = offeredProtocols(headers);
  for (const protocol of offered.length === 0 ? [''] : offered) {
    const encode = LOG_PROTOCOLS.get(protocol);
    if (encode !== undefined) return { protocol, encode };
  }
  const known = [...LOG_PROTOCOLS.keys()].filter((name) => name !== '').join(', ');
  throw new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `requested protocols are not supported: client supports [${offered.join(' ')}], server accepts [${known}]`,
    details: {},
  });
}

interface Client {
  readonly socket: Duplex;
  readonly head: Uint8Array;
  readonly clock: Clock;
}

/** Each message waits until the one before has left, so that a slow client makes the source wait. */
async function send({ socket, head, clock }: Client, body: ResponseBody, encode: Encode): Promise<void> {
  const connection = acceptWebSocket(socket, head, { clock, onData: () => {} });
  const source = sourceOf(body)[Symbol.asyncIterator]();
  // A watch that is quiet ends with its client.
  void connection.closed.then(() => source.return?.());
  const message = (bytes: Uint8Array): Promise<void> => {
    const { payload, kind } = encode(bytes);
    return new Promise((resolve) => connection.send(payload, resolve, kind));
  };
  // Clients of logs take an empty message as the sign that they are connected.
  if (body.kind !== 'watch') await message(NOTHING);
  for (let next = await source.next(); next.done !== true && !socket.destroyed; next = await source.next()) {
    if (!(next.value instanceof Uint8Array)) await message(next.value.bytes());
    else for (const piece of cut(next.value)) await message(piece);
  }
  connection.close(CLOSE_CODE.normal);
  await connection.closed;
}

const NOTHING = new Uint8Array();

function sourceOf(body: ResponseBody): AsyncIterable<Uint8Array | WatchFrame> {
  if (body.kind === 'watch') return body.frames;
  if (body.kind === 'stream') return body.chunks;
  return once(body.kind === 'text' ? Buffer.from(body.text) : NOTHING);
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

function* cut(bytes: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += MESSAGE_BYTES) yield bytes.subarray(at, at + MESSAGE_BYTES);
}
