import type { IncomingMessage, RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { nodeHttp, nodeHttps, nodeTls } from '@holdfast/platform/http';
import type { HttpAnswer, ProbeNetwork } from '../container/probe-network.ts';
import { PlainAnswerError } from '../domain/plain-answer-error.ts';
import { PROBE_BODY_MAX_BYTES } from '../limits.ts';
import { grpcHealth } from './grpc-health.ts';

/** A connection to a place that only this way reaches; `undefined`: an ordinary one does. */
export type Dial = (host: string, port: number) => Promise<Socket> | undefined;

const ORDINARY: Dial = () => undefined;

export function createProbeNetwork(clock: Clock, dial: Dial = ORDINARY): ProbeNetwork {
  return {
    httpGet: (request) => httpGet({ clock, dial }, request),
    connect: (host, port, timeoutMs) => connectTo({ clock, dial }, { host, port, timeoutMs }),
    grpcHealth: async (request) =>
      grpcHealth(request, await untilAborted(request.signal, dial(request.host, request.port))),
  };
}

interface Ways {
  readonly clock: Clock;
  readonly dial: Dial;
}

async function httpGet(
  { clock, dial }: Ways,
  { url, headers, timeoutMs, signal }: Parameters<ProbeNetwork['httpGet']>[0],
): Promise<HttpAnswer> {
  const begunAt = clock.monotonic();
  const isSecure = url.startsWith('https:');
  const { hostname, port } = new URL(url);
  const place = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (isSecure ? 443 : 80) };
  const socket = await withDeadline(clock, { timeoutMs, signal }, dial(place.host, place.port));
  const options = { method: 'GET', headers, ...(signal === undefined ? {} : { signal }), ...over(socket, isSecure) };
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const onResponse = (response: IncomingMessage): void => {
    readAnswer(response).then(resolve, reject);
  };
  // As in Kubernetes, a probe does not check the certificate of a pod.
  const sent = isSecure
    ? nodeHttps().request(url, { ...options, rejectUnauthorized: false }, onResponse)
    : nodeHttp().request(url, options, onResponse);
  sent.on('error', (error) => reject(isPlainAnswer(error) ? new PlainAnswerError(error) : error));
  // A deadline for the whole exchange: a server that sends a byte now and then is never idle.
  const deadline = clock.timer(timeoutMs - (clock.monotonic() - begunAt), () => {
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

/** OpenSSL takes the first bytes of a plain answer for the version of a record. Node has no code for that alone. */
const isPlainAnswer = (error: Error): boolean =>
  'code' in error && error.code === 'EPROTO' && error.message.includes('wrong version number');

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

async function connectTo(
  { clock, dial }: Ways,
  { host, port, timeoutMs }: { readonly host: string; readonly port: number; readonly timeoutMs: number },
): Promise<void> {
  const dialled = dial(host, port);
  if (dialled !== undefined) return void (await withDeadline(clock, { timeoutMs }, dialled))?.destroy();
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

/** Options of a request over a connection that exists, or over a new one. An agent would ignore the one that exists. */
function over(socket: Socket | undefined, isSecure: boolean): RequestOptions {
  if (socket === undefined) return { agent: false };
  return { createConnection: () => (isSecure ? nodeTls().connect({ socket, rejectUnauthorized: false }) : socket) };
}

async function withDeadline(
  clock: Clock,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  dialled: Promise<Socket> | undefined,
): Promise<Socket | undefined> {
  const late = new AbortController();
  const ending = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
  const deadline = clock.timer(timeoutMs, () => late.abort(new Error(`no connection within ${timeoutMs} ms`)));
  try {
    return await untilAborted(ending, dialled);
  } finally {
    deadline.cancel();
  }
}

/** A connection that comes too late is closed. */
async function untilAborted(signal: AbortSignal, dialled: Promise<Socket> | undefined): Promise<Socket | undefined> {
  if (dialled === undefined) return undefined;
  dialled.then(
    (socket) => {
      if (signal.aborted) socket.destroy();
    },
    () => undefined,
  );
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([dialled, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
