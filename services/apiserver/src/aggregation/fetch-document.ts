import type { IncomingMessage } from 'node:http';
import type { Clock } from '@holdfast/platform';
import { tlsFailureOf } from '../service-calls/tls.ts';
import type { RemoteApi } from './api-services.ts';
import { identityHeaders } from './identity-headers.ts';
import { AGGREGATOR } from './probe.ts';
import type { RemoteConnections } from './remote-connection.ts';

export interface WantedDocument {
  readonly api: RemoteApi;
  readonly path: string;
  readonly accept: string;
  /** The tag of the cached document. */
  readonly etag?: string | undefined;
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

export interface FetchedDocument {
  readonly status: number;
  readonly contentType: string;
  readonly etag: string | undefined;
  readonly text: string;
}

/** Asks a server behind this one for a document of its own. Rejects when there is no answer in time, or too long a one. */
export function fetchDocument(
  { connections, clock }: { readonly connections: RemoteConnections; readonly clock: Clock },
  wanted: WantedDocument,
): Promise<FetchedDocument> {
  const { api, path, accept, etag, bytesMax, timeoutMs } = wanted;
  const target = connections.find(api);
  if (typeof target === 'string') return Promise.reject(new Error(target));
  const { promise, resolve, reject } = Promise.withResolvers<FetchedDocument>();
  const request = connections.open({
    target,
    method: 'GET',
    path,
    headers: {
      host: new URL(target.url).host,
      accept,
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
      ...identityHeaders(AGGREGATOR),
    },
  });
  const fail = (why: string): void => {
    reject(new Error(`${path}: ${why}`));
    request.destroy();
  };
  const deadline = clock.timer(timeoutMs, () => fail('no answer in time'));
  request.on('error', (error) => fail(tlsFailureOf(error)));
  request.once('response', (answer) => receive(answer, bytesMax, { resolve, fail }));
  request.end();
  return promise.finally(() => deadline.cancel());
}

interface Outcome {
  readonly resolve: (document: FetchedDocument) => void;
  readonly fail: (why: string) => void;
}

function receive(answer: IncomingMessage, bytesMax: number, { resolve, fail }: Outcome): void {
  const chunks: Buffer[] = [];
  let size = 0;
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytesMax) fail(`the answer has more than ${bytesMax} bytes`);
    else chunks.push(chunk);
  });
  answer.on('error', (error) => fail(error.message));
  answer.once('end', () => {
    const { 'content-type': contentType = '', etag } = answer.headers;
    resolve({ status: answer.statusCode ?? 0, contentType, etag, text: Buffer.concat(chunks).toString('utf8') });
  });
}
