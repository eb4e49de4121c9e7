import { mkdirSync, realpathSync } from 'node:fs';
import type { Clock, Log } from '@holdfast/platform';
import { engineAbilities, listingWithSweep, schemeOf } from '../engine-runtime.ts';
import { guarded } from '../guarded/index.ts';
import { DEFAULT_LOG_LIMITS, type LogLimits } from '../log-limits.ts';
import { createPodFiles } from '../pod-files.ts';
import type { ContainerRuntime } from '../port.ts';
import { CriConnection } from './connection.ts';
import { CriContainers } from './containers.ts';
import { readGroupsRefusal, readHealth, readUsage, readUserNamespaceRefusal, readVersion } from './health.ts';
import { createImages } from './images.ts';
import { podUidOf } from './labels.ts';
import { CriLogKeeper } from './log-keeper.ts';
import { CriSandboxes } from './sandboxes.ts';
import { CriStore } from './store.ts';
import { createStreams } from './streams.ts';
import { CriWatch } from './watch.ts';

export interface CriRuntimeOptions {
  /** `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Logs and volumes of pods: must outlive the kubelet. Its own per node. */
  readonly stateDirectory: string;
  /** Several nodes may share a runtime: each sees only what it made. */
  readonly nodeName: string;
  /** `podIP` of host-network pods; it may change. */
  readonly nodeAddress: () => string;
  /** Default: Kubernetes'. */
  readonly logs?: LogLimits | undefined;
  /** Resets the machine when its exclusive containers cannot be ended. */
  readonly watchdogDevice?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Uses the scheme of the runtime's container ids. It is guessed from the socket's name while the runtime does not
 * respond.
 */
export async function openCriRuntime(
  options: CriRuntimeOptions,
): Promise<{ readonly runtime: ContainerRuntime; readonly runtimeName: string }> {
  const runtime = createCriRuntime(options);
  const guess = options.endpoint.includes('crio') ? 'cri-o' : 'containerd';
  return { runtime, runtimeName: await schemeOf(runtime, guess) };
}

/** `name://version` of the runtime at this socket. */
export async function readCriVersion(endpoint: string, clock: Clock): Promise<string> {
  const connection = new CriConnection(endpoint, clock);
  try {
    return await readVersion(connection);
  } finally {
    connection.close();
  }
}

/** Containers of a runtime that speaks CRI v1, such as containerd or CRI-O. Connects with the first request. */
export function createCriRuntime(options: CriRuntimeOptions): ContainerRuntime {
  const { clock, log, nodeAddress, nodeName: node } = options;
  mkdirSync(options.stateDirectory, { recursive: true, mode: 0o700 });
  const connection = new CriConnection(options.endpoint, clock);
  const stateDirectory = realpathSync(options.stateDirectory);
  const files = createPodFiles(stateDirectory);
  const store = new CriStore({ connection, clock, log, node, nodeAddress, volumesPath: files.volumesPath });
  const containers = new CriContainers({ connection, store, files, clock, node });
  const sandboxes = new CriSandboxes({ connection, store, containers, files, node });
  const logs = new CriLogKeeper({ connection, store, clock, log, limits: options.logs ?? DEFAULT_LOG_LIMITS });
  const watch = new CriWatch({ connection, store, clock, log });
  /** Reports own changes immediately instead of at the next poll. */
  const telling = async <T>(podUid: Promise<string | undefined>, work: Promise<T>): Promise<T> => {
    const [answer, uid] = await Promise.all([work, podUid]);
    if (uid !== undefined) watch.tell(uid);
    return answer;
  };
  const podOf = (id: string): Promise<string | undefined> =>
    store.container(id).then(
      (status) => (status === undefined ? undefined : podUidOf(status.labels)),
      () => undefined,
    );
  const runtime: ContainerRuntime = {
    abilities: engineAbilities(),
    volumes: { path: files.volumesPath, remove: files.removeVolumes, release: files.releaseMemory },
    userNamespaces: {
      mapsVolumes: true,
      refusal: (handler) => readUserNamespaceRefusal(connection, handler),
    },
    images: createImages(connection),
    streams: createStreams({ connection, store, containers, clock }),
    version: () => readVersion(connection),
    health: () => readHealth(connection),
    usage: () => readUsage(connection, node),
    runSandbox: (config) => telling(Promise.resolve(config.podUid), sandboxes.run(config)),
    stopSandbox: (id, graceMs) => sandboxes.stop(id, graceMs),
    removeSandbox: (id) => sandboxes.remove(id),
    createContainer: (sandbox, config) => containers.create(sandbox, config),
    startContainer: (id) => telling(podOf(id), containers.start(id)),
    stopContainer: (id, graceMs) => telling(podOf(id), containers.stop(id, graceMs)),
    removeContainer: (id) => containers.remove(id),
    exec: (id, command, timeoutMs, signal) => containers.exec(id, command, timeoutMs, signal),
    list: listingWithSweep(store, files),
    onChange: (listener) => {
      logs.start();
      return watch.onChange(listener);
    },
    close: async () => {
      watch.stop();
      logs.stop();
      connection.close();
    },
  };
  return guarded(runtime, { ...options, stateDirectory, refusal: () => readGroupsRefusal(connection) });
}
