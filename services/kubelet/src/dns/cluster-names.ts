import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import {
  canonicalIp,
  ENDPOINT_SLICES,
  type EndpointSlice,
  type Service as KubeService,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@holdfast/api';
import type { Bus } from '@holdfast/bus';
import { type ApiClient, createInformer } from '@holdfast/client';
import type { Clock, Log, Random, Service } from '@holdfast/platform';
import { type ClusterDns, readResolver } from '../domain/network-identity.ts';
import { NameServer } from './name-server.ts';

export interface ClusterNamesDeps {
  /** Reads services and their slices. */
  readonly client: ApiClient;
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly domain?: string;
  /** See `KnownNames`. */
  readonly isRouted?: (service: KubeService) => boolean;
  /** The only address to listen at. Default: a free loopback address. */
  readonly address?: string;
  /** The port of both server and upstream, in tests. */
  readonly port?: number;
  readonly upstreamPort?: number;
  readonly upstreams?: readonly string[];
}

export interface ClusterNames extends Service {
  /** The DNS settings of pods on this machine; read when a pod starts. */
  readonly dns: ClusterDns;
  /** Answers one query from this address; `undefined`: that was none. */
  answer(query: Buffer, source: string): Promise<Buffer | undefined>;
  /** Answers the queries of a connection from this address. */
  accept(connection: Duplex, source: string): void;
  /** The listen address. */
  address(): { readonly address: string; readonly port: number } | undefined;
}

const sliceKey = ({ metadata }: EndpointSlice): string =>
  `${metadata.namespace ?? ''}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`;

/** Only endpoints with host names have names of their own. */
const addressesWithNames = ({ endpoints }: EndpointSlice): readonly string[] =>
  endpoints.filter(({ hostname }) => hostname !== undefined).flatMap(({ addresses }) => addresses);

/**
 * The names of services for pods of this machine. `start` resolves when it answers; before the first list
 * is there, it says that it failed, not that a name is missing.
 */
export function createClusterNames(deps: ClusterNamesDeps): ClusterNames {
  const { clock, log, domain = 'cluster.local' } = deps;
  const services = createInformer<KubeService>({
    ...deps,
    resource: SERVICES,
    indexes: { address: ({ spec }) => (spec.clusterIPs ?? []).flatMap((each) => canonicalIp(each) ?? []) },
  });
  const slices = createInformer<EndpointSlice>({
    ...deps,
    resource: ENDPOINT_SLICES,
    indexes: { service: (slice) => [sliceKey(slice)], address: addressesWithNames },
  });
  const server = new NameServer({
    clock,
    log,
    ...(deps.port === undefined ? {} : { port: deps.port }),
    address: deps.address,
    names: {
      domain,
      ...(deps.isRouted === undefined ? {} : { isRouted: deps.isRouted }),
      service: (namespace, name) => services.get({ namespace, name }),
      slices: (namespace, name) => slices.byIndex('service', `${namespace}/${name}`),
      servicesAt: (address) => services.byIndex('address', address),
      slicesAt: (address) => slices.byIndex('address', address),
    },
    isComplete: () => isComplete,
    upstream: {
      clock,
      servers: async () => deps.upstreams ?? machineServers(server.address()?.address),
      ...(deps.upstreamPort === undefined ? {} : { port: deps.upstreamPort }),
    },
  });
  let starting: Promise<void> | undefined;
  let isComplete = false;
  const begin = async (): Promise<void> => {
    await Promise.all([services.start(), slices.start(), server.start()]);
    void Promise.all([services.synced(), slices.synced()]).then(
      () => {
        isComplete = true;
      },
      // Stopped before that.
      () => {},
    );
  };
  return {
    name: 'names of services',
    dns: {
      domain,
      get servers() {
        const address = server.address()?.address;
        return address === undefined ? [] : [address];
      },
    },
    answer: (bytes, source) => server.answer({ bytes, source, transport: 'udp' }),
    accept: (connection, source) => server.accept(connection, source),
    address: () => server.address(),
    start: () => {
      starting ??= begin();
      return starting;
    },
    stop: async () => {
      await server.stop();
      await Promise.all([services.stop(), slices.stop()]);
    },
  };
}

/** Never this server itself: its questions would come back. */
async function machineServers(own: string | undefined): Promise<readonly string[]> {
  const text = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
  return readResolver(text).servers.filter((server) => server !== own);
}
