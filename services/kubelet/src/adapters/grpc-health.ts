import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { nodeHttp2 } from '@holdfast/platform/http';
import type { ProbeNetwork } from '../container/probe-network.ts';
import { GRPC_ANSWER_MAX_BYTES } from '../limits.ts';

const PATH = '/grpc.health.v1.Health/Check';
/** `status` of HealthCheckResponse; the number is on the wire. */
const SERVING_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;
const UNIMPLEMENTED = 12;

/** One `grpc.health.v1.Health/Check` over cleartext HTTP/2, on a connection of its own. */
export const grpcHealth: ProbeNetwork['grpcHealth'] = (request) => {
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: string }>();
  const { connect, constants } = nodeHttp2();
  const host = request.host.includes(':') ? `[${request.host}]` : request.host;
  const session = connect(`http://${host}:${request.port}`);
  request.signal.addEventListener('abort', () => session.destroy(), { once: true });
  session.on('error', reject);
  // A no-op after an answer: the connection ended without one.
  session.once('close', () => reject(new Error('the connection was closed before an answer')));
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: PATH,
    'content-type': 'application/grpc',
    'user-agent': 'kube-probe/1.32',
    te: 'trailers',
  });
  readAnswer(stream).then(resolve, reject);
  stream.end(encodeRequest(request.service));
  return promise.finally(() => session.destroy());
};

function readAnswer(stream: ClientHttp2Stream): Promise<{ readonly status: string }> {
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
      if (size > GRPC_ANSWER_MAX_BYTES) stream.destroy(new Error('the health answer is too large'));
      else chunks.push(chunk);
    });
    stream.on('error', reject);
    stream.once('end', () => {
      try {
        refuseFailure(head);
        resolve({ status: decodeAnswer(Buffer.concat(chunks)) });
      } catch (error) {
        reject(error);
      }
    });
  });
}

function refuseFailure(head: IncomingHttpHeaders): void {
  const http = Number(head[':status']);
  if (http !== 200) throw new Error(`health rpc was answered with HTTP status ${http}`);
  const code = Number(head['grpc-status'] ?? Number.NaN);
  if (code === 0) return;
  const message = decodeURIComponent(String(head['grpc-message'] ?? ''));
  if (code === UNIMPLEMENTED) {
    throw new Error(`this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`);
  }
  throw new Error(`health rpc failed with grpc status ${code}: ${message}`);
}

/** `HealthCheckRequest { string service = 1 }` in its frame: one byte for compression, four for the length. */
export function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** `HealthCheckResponse { ServingStatus status = 1 }`; an absent field is 0. */
export function decodeAnswer(frame: Buffer): string {
  if (frame.length < 5 || frame[0] !== 0) throw new Error('the health answer is not an uncompressed grpc message');
  const message = frame.subarray(5, 5 + frame.readUInt32BE(1));
  if (message.length === 0) return SERVING_STATUS[0];
  const status = message[0] === 0x08 ? message[1] : undefined;
  const name = status === undefined ? undefined : SERVING_STATUS[status];
  if (name === undefined) throw new Error('the health answer cannot be read');
  return name;
}
