import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import type { Duplex } from 'node:stream';
import { nodeHttp2 } from './http.ts';

interface Place {
  readonly host: string;
  readonly port: number;
  /** Absent: a new one. */
  readonly connection?: Duplex;
}

/** One unary call over cleartext HTTP/2. The messages are in protobuf form. */
export interface UnaryCall {
  readonly to: Place | { readonly socket: string };
  /** `/<package>.<Service>/<Method>` */
  readonly path: string;
  readonly message: Buffer;
  readonly userAgent: string;
  readonly answerBytesMax: number;
  /** Ends the call. The caller gives every call a deadline with it. */
  readonly signal: AbortSignal;
}

/** The server answered, and the answer is a failure. */
export class GrpcFailure extends Error {
  override readonly name = 'GrpcFailure';
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The answer has an HTTP status other than 200. */
export class GrpcHttpStatus extends Error {
  override readonly name = 'GrpcHttpStatus';
  readonly status: number;
  constructor(status: number) {
    super(`the call was answered with HTTP status ${status}`);
    this.status = status;
  }
}

/** Resolves with the message of the answer. Each call has a connection of its own. */
export async function callUnary(call: UnaryCall): Promise<Buffer> {
  call.signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const session = open(call.to);
  const onAbort = (): void => session.destroy();
  call.signal.addEventListener('abort', onAbort, { once: true });
  session.on('error', reject);
  // A no-op after an answer: the connection ended without one.
  session.once('close', () => reject(new Error('the connection was closed before an answer')));
  const { constants } = nodeHttp2();
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: call.path,
    'content-type': 'application/grpc',
    'user-agent': call.userAgent,
    te: 'trailers',
  });
  readAnswer(stream, call.answerBytesMax).then(resolve, reject);
  stream.end(framed(call.message));
  try {
    return await promise;
  } finally {
    call.signal.removeEventListener('abort', onAbort);
    session.destroy();
  }
}

function open(to: UnaryCall['to']): ClientHttp2Session {
  const { connect } = nodeHttp2();
  // Servers on a UNIX socket accept only this authority.
  if ('socket' in to) return connect('http://localhost', { createConnection: () => connectSocket(to.socket) });
  const host = to.host.includes(':') ? `[${to.host}]` : to.host;
  const { connection } = to;
  return connect(`http://${host}:${to.port}`, connection === undefined ? {} : { createConnection: () => connection });
}

const FRAME_HEAD_BYTES = 5;

/** One byte for compression, four for the length. */
export function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function readAnswer(stream: ClientHttp2Stream, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: IncomingHttpHeaders = {};
    stream.on('response', (headers) => {
      head = headers;
    });
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      head = { ...head, ...trailers };
    });
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax + FRAME_HEAD_BYTES) stream.destroy(new Error('the answer is too large'));
      else chunks.push(chunk);
    });
    stream.on('error', reject);
    stream.once('end', () => {
      try {
        refuseFailure(head);
        resolve(messageOf(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

function refuseFailure(head: IncomingHttpHeaders): void {
  const http = Number(head[':status']);
  if (http !== 200) throw new GrpcHttpStatus(http);
  const code = Number(head['grpc-status'] ?? Number.NaN);
  if (code !== 0) throw new GrpcFailure(code, decoded(String(head['grpc-message'] ?? '')));
}

/** The text is percent-encoded. A malformed one is used as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function messageOf(frame: Buffer): Buffer {
  if (frame.length < FRAME_HEAD_BYTES || frame[0] !== 0) {
    throw new Error('the answer is not an uncompressed grpc message');
  }
  const end = FRAME_HEAD_BYTES + frame.readUInt32BE(1);
  if (frame.length !== end) throw new Error('the answer is not one whole grpc message');
  return frame.subarray(FRAME_HEAD_BYTES);
}
