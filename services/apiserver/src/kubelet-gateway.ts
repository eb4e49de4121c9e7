import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { NODES, type Node } from '@holdfast/api';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError } from '@holdfast/platform';
import { KUBELET_ANSWER_MS } from './limits.ts';
import type { NodeGateway } from './node-gateway.ts';
import type { ObjectReader } from './reader.ts';

export interface KubeletGatewayOptions {
  readonly clock: Clock;
  /** PEM texts: who the authority of the nodes is, and who we are to them. */
  readonly tls: { readonly ca: string; readonly certificate: string; readonly key: string };
}

/** The kubelets over the network, where their Node objects say that they listen. Each must prove its node's name. */
export function createKubeletGateway(reader: ObjectReader, options: KubeletGatewayOptions): NodeGateway {
  const { ca, certificate: cert, key } = options.tls;
  const agent = new Agent({ ca, cert, key, keepAlive: true, minVersion: 'TLSv1.2' });
  return {
    request: async (name, request) => {
      const node = await reader.fresh(NODES, { name });
      if (node === undefined) {
        throw new StatusError({
          code: 404,
          reason: 'NotFound',
          message: `nodes "${name}" not found`,
          details: { name, kind: 'nodes' },
        });
      }
      return exchange({ agent, clock: options.clock, place: placeOf(node), name }, request);
    },
  };
}

interface Way {
  readonly agent: Agent;
  readonly clock: Clock;
  readonly name: string;
  readonly place: { readonly host: string; readonly port: number };
}

const ADDRESS_TYPES = ['InternalIP', 'InternalDNS', 'ExternalIP', 'ExternalDNS', 'Hostname'];

function placeOf({ metadata, status }: Node): Way['place'] {
  const { addresses = [], daemonEndpoints } = status ?? {};
  const port = daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  const address = ADDRESS_TYPES.flatMap((type) => addresses.filter((each) => each.type === type))[0]?.address;
  if (port > 0 && address !== undefined) return { host: address, port };
  throw broken(`node ${metadata.name} does not say where its kubelet listens`);
}

const broken = (why: string, cause?: unknown): StatusError =>
  new StatusError({ code: 500, reason: 'InternalError', message: `Internal error occurred: ${why}`, cause });

function exchange({ agent, clock, name, place }: Way, request: ApiRequest): Promise<ApiResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ApiResponse>();
  const query = request.query.toString();
  const sent = httpsRequest({
    ...place,
    agent,
    // The name, not the address: addresses change hands.
    servername: name,
    method: request.method,
    path: `${encodeURI(request.path)}${query === '' ? '' : `?${query}`}`,
    headers: request.headers,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  const deadline = clock.timer(KUBELET_ANSWER_MS, () => sent.destroy(new Error('no answer in time')));
  sent.once('error', (error) => reject(broken(`error dialing backend: ${describeError(error)}`, error)));
  sent.once('response', (answer) => resolve(streamed(answer)));
  sent.once('upgrade', (answer, socket, head) => resolve(upgraded(answer, socket, head)));
  sent.end(request.body);
  return promise.finally(() => deadline.cancel());
}

/** What concerns one connection only. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'date',
  'content-length',
]);

function headersOf({ headers }: IncomingMessage, without: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || without.has(name) ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

const streamed = (answer: IncomingMessage): ApiResponse => ({
  status: answer.statusCode ?? 502,
  headers: headersOf(answer, HOP_HEADERS),
  body: { kind: 'stream', chunks: answer },
});

function upgraded(answer: IncomingMessage, kubelet: Duplex, head: Buffer): ApiResponse {
  // Until somebody takes it.
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

/** From here on this server only passes bytes on; whoever is slow makes the other wait, and the end of one is the end of both. */
export function joinConnections(client: Duplex, clientHead: Uint8Array, other: Duplex): void {
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
