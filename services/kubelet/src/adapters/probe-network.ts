import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import type { HttpAnswer, ProbeNetwork } from '../container/probe-network.ts';
import { PROBE_BODY_MAX_BYTES } from '../limits.ts';
import { grpcHealth } from './grpc-health.ts';

export function createProbeNetwork(clock: Clock): ProbeNetwork {
  return { httpGet: (request) => httpGet(clock, request), connect: connectTo, grpcHealth };
}

async function httpGet(
  clock: Clock,
  { url, headers, timeoutMs }: Parameters<ProbeNetwork['httpGet']>[0],
): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const options = { method: 'GET', headers, agent: false };
  const onResponse = (response: IncomingMessage): void => {
    readAnswer(response).then(resolve, reject);
  };
  // As in Kubernetes, a probe does not check the certificate of a pod.
  const sent = url.startsWith('https:')
    ? nodeHttps().request(url, { ...options, rejectUnauthorized: false }, onResponse)
    : nodeHttp().request(url, options, onResponse);
  sent.on('error', reject);
  // A deadline for the whole exchange: a server that sends a byte now and then is never idle.
  const deadline = clock.timer(timeoutMs, () => {
    reject(new Error(`no answer within ${timeoutMs} ms`));
    sent.destroy();
  });
  sent.end();
  try {
    return await promise;
  } finally {
    deadline.cancel();
  }
}

/** Only the text of a redirect is reported. */
async function readAnswer(response: IncomingMessage): Promise<HttpAnswer> {
  const { statusCode: status = 0 } = response;
  const isRedirect = status >= 300 && status < 400;
  const body = isRedirect ? await beginningOf(response) : '';
  response.destroy();
  return { status, location: response.headers.location, body };
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(Buffer.from(chunk));
    bytes += chunks.at(-1)?.length ?? 0;
    if (bytes >= PROBE_BODY_MAX_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, PROBE_BODY_MAX_BYTES).toString('utf8');
}

function connectTo(host: string, port: number, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)));
    socket.once('connect', () => {
      resolve();
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
