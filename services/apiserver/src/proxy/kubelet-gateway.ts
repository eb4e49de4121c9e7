import { Agent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { NODES, type Node } from '@holdfast/api';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import type { ObjectReader } from '../cache/reader.ts';
import { isGlobalUnicast } from './global-unicast.ts';
import type { NodeGateway } from './node-gateway.ts';
import { brokenBackend, exchangeOverHttp } from './proxy-exchange.ts';

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
  if (port > 0 && address !== undefined) {
    // The writer of a node's status chooses its address: it must not be one of this machine.
    if (isIP(address) !== 0 && !isGlobalUnicast(address)) throw badRequest('address not allowed');
    return { host: address, port };
  }
  throw brokenBackend(`node ${metadata.name} does not report the address of its kubelet`);
}

function exchange({ agent, clock, name, place }: Way, request: ApiRequest): Promise<ApiResponse> {
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
  return exchangeOverHttp(sent, request, { clock, told: brokenBackend });
}
