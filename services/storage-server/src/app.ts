import { type Clock, type Log, type Service, stopInReverse } from '@holdfast/platform';
import type { TlsPair } from '@holdfast/platform/pair-watch';
import type { VolumeBackend } from './backends/port.ts';
import { createStorageMetrics } from './metrics.ts';
import { VolumeServer } from './volume-server.ts';
import { Volumes } from './volumes.ts';

export interface StorageServerDeps {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsPair | undefined;
  readonly masterKey: string;
  readonly connectionsMax: number;
  readonly volumesMax: number;
  readonly volumeBytesMax: number;
  /** Closed by `stop`. */
  readonly backend: VolumeBackend;
  readonly clock: Clock;
  readonly log: Log;
}

export interface StorageServer extends Service {
  /** Known once the server listens. */
  port(): number;
  /** In Prometheus text format. */
  metrics(): string;
  isReady(): boolean;
  /** Another certificate, for new connections of a server that has one. */
  readonly renew: (pair: TlsPair) => void;
}

/** Serves volumes, each to the writers of its last attachment. */
export function createStorageServer(deps: StorageServerDeps): StorageServer {
  const { backend } = deps;
  const volumes = new Volumes(deps);
  const server = new VolumeServer({ ...deps, volumes, metrics: () => metrics });
  const metrics = createStorageMetrics({ connections: () => server.connections(), volumes: () => volumes.count() });
  let isReady = false;
  return {
    name: 'storage server',
    port: () => server.port(),
    metrics: () => metrics.render(),
    isReady: () => isReady,
    renew: (pair) => server.renew(pair),
    start: async () => {
      await server.start();
      isReady = true;
    },
    stop: async () => {
      isReady = false;
      await stopInReverse([{ stop: () => backend.close() }, server]);
    },
  };
}
