import type { Duplex } from 'node:stream';
import { callUnary, GrpcFailure, GrpcHttpStatus } from '@holdfast/platform/grpc';
import type { ProbeNetwork } from '../container/probe-network.ts';
import { GRPC_ANSWER_MAX_BYTES } from '../limits.ts';

const PATH = '/grpc.health.v1.Health/Check';
/** `status` of HealthCheckResponse; the number is on the wire. */
const SERVING_STATUS = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;
const UNIMPLEMENTED = 12;

/** One `grpc.health.v1.Health/Check` over cleartext HTTP/2, on a connection of its own: this one, or a new one. */
export async function grpcHealth(
  { host, port, service, signal }: Parameters<ProbeNetwork['grpcHealth']>[0],
  connection?: Duplex,
): ReturnType<ProbeNetwork['grpcHealth']> {
  try {
    const answer = await callUnary({
      to: { host, port, ...(connection === undefined ? {} : { connection }) },
      path: PATH,
      message: encodeRequest(service),
      userAgent: 'kube-probe/1.32',
      answerBytesMax: GRPC_ANSWER_MAX_BYTES,
      signal,
    });
    return { status: decodeAnswer(answer) };
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): unknown {
  if (error instanceof GrpcHttpStatus) return new Error(`health rpc was answered with HTTP status ${error.status}`);
  if (!(error instanceof GrpcFailure)) return error;
  const { code, message } = error;
  return code === UNIMPLEMENTED
    ? new Error(`this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`)
    : new Error(`health rpc failed with grpc status ${code}: ${message}`);
}

/** `HealthCheckRequest { string service = 1 }` */
function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service);
  return name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** `HealthCheckResponse { ServingStatus status = 1 }`; an absent field is 0. */
function decodeAnswer(message: Buffer): string {
  if (message.length === 0) return SERVING_STATUS[0];
  const status = message[0] === 0x08 ? message[1] : undefined;
  const name = status === undefined ? undefined : SERVING_STATUS[status];
  if (name === undefined) throw new Error('the health answer cannot be read');
  return name;
}
