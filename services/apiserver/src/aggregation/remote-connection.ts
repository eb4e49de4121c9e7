import type { ClientRequest, OutgoingHttpHeaders } from 'node:http';
import type { Agent } from 'node:https';
import { ENDPOINTS, SERVICES } from '@holdfast/api';
import type { Ids } from '@holdfast/platform';
import { nodeHttps } from '@holdfast/platform/http';
import { AGGREGATED_IDLE_CONNECTIONS_MAX } from '../limits.ts';
import { securePodAgent } from '../proxy/pod-agent.ts';
import type { CallTarget } from '../service-calls/port.ts';
import { type Machine, mayReach, type NetPlace, placeOf } from '../service-calls/service-place.ts';
import { tlsOptionsOf } from '../service-calls/tls.ts';
import type { RemoteApi } from './api-services.ts';

/** This server's identity towards aggregated servers: PEM texts. */
export interface FrontProxy {
  readonly certificate: string;
  readonly key: string;
  /** The authority that signed the certificate. */
  readonly ca: string;
}

export interface RemoteRequest {
  readonly target: CallTarget;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly signal?: AbortSignal | undefined;
  /** Over a connection that no other request has used. */
  readonly isAlone?: boolean;
}

export interface RemoteConnections {
  /** Returns the current address of an API. A string explains why there is none. */
  find(api: RemoteApi): CallTarget | string;
  open(request: RemoteRequest): ClientRequest;
}

export interface RemoteConnectionsDeps extends Machine {
  readonly ids: Ids;
  readonly frontProxy: FrontProxy | undefined;
}

export function createRemoteConnections(deps: RemoteConnectionsDeps): RemoteConnections {
  let kept: Agent | undefined;
  // Read each time: the way to pods may come later.
  const dial = (place: NetPlace) => deps.nodes?.dial?.(place);
  const agent = (): Agent =>
    (kept ??= securePodAgent(dial, { keepAlive: true, maxFreeSockets: AGGREGATED_IDLE_CONNECTIONS_MAX }));
  /** For one request. */
  const alone = (): Agent => securePodAgent(dial);
  const { frontProxy } = deps;
  const identity = frontProxy === undefined ? {} : { cert: frontProxy.certificate, key: frontProxy.key };
  return {
    find: (api) => find(deps, api),
    open: ({ target, method, path, headers, signal, isAlone }) =>
      nodeHttps().request({
        agent: isAlone === true ? alone() : agent(),
        ...tlsOptionsOf(target),
        ...identity,
        method,
        path,
        headers,
        ...(signal === undefined ? {} : { signal }),
      }),
  };
}

function find(deps: RemoteConnectionsDeps, { service, ca, insecure }: RemoteApi): CallTarget | string {
  const { namespace, name, port } = service;
  // A request to this server would loop for ever.
  if (namespace === 'default' && name === 'kubernetes') return 'the service kubernetes is this server';
  const state = deps.reader.cached(SERVICES, { namespace, name });
  const type = state?.spec?.type ?? 'ClusterIP';
  if (type === 'ExternalName') return `unsupported service type ${JSON.stringify(type)}`;
  const endpoints = deps.reader.cached(ENDPOINTS, { namespace, name });
  const place = placeOf({ name, port, service: state, endpoints }, deps.ids, (address) =>
    mayReach(deps, namespace, address),
  );
  if (typeof place === 'string') return place;
  return {
    url: `https://${name}.${namespace}.svc:${port}`,
    connectTo: place,
    ...(ca === undefined ? {} : { ca }),
    insecure,
  };
}
