import { mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Log } from '@holdfast/platform';
import { engineAbilities, listingWithSweep, schemeOf } from '../engine-runtime.ts';
import { guarded } from '../guarded/index.ts';
import { InsideDialer } from '../inside-dialer.ts';
import { DEFAULT_LOG_LIMITS, type LogLimits } from '../log-limits.ts';
import { createPodFiles } from '../pod-files.ts';
import type { ContainerRuntime } from '../port.ts';
import { Commands } from './commands.ts';
import { DockerContainers } from './containers.ts';
import { Engine } from './engine.ts';
import { readGroupsRefusal, readHealth, readUsage, readVersion } from './health.ts';
import { createImages } from './images.ts';
import { oomScoreMin } from './local-processes.ts';
import { LogKeeper } from './log-keeper.ts';
import { SandboxImage } from './sandbox-image.ts';
import { DockerSandboxes } from './sandboxes.ts';
import { DockerStore } from './store.ts';
import { createStreams } from './streams.ts';
import { DockerWatch } from './watch.ts';

export interface DockerRuntimeOptions {
  /** `unix:///var/run/docker.sock`. */
  readonly endpoint: string;
  /** Logs and volumes of pods: must outlive the kubelet. Its own per node: it also tells whose containers are whose. */
  readonly stateDirectory: string;
  readonly nodeName: string;
  /** `podIP` of host-network pods; it may change. */
  readonly nodeAddress: () => string;
  /** The image of sandboxes. Default: one that the node makes itself. */
  readonly sandboxImage?: string | undefined;
  /** Default: Kubernetes'. */
  readonly logs?: LogLimits | undefined;
  /** Resets the machine when its exclusive containers cannot be ended. */
  readonly watchdogDevice?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

const NO_USER_NAMESPACES = 'a Docker engine gives no users of its own to single pods';

/** The name is `docker` for an engine that does not answer yet. */
export async function openDockerRuntime(
  options: DockerRuntimeOptions,
): Promise<{ readonly runtime: ContainerRuntime; readonly runtimeName: string }> {
  const runtime = createDockerRuntime(options);
  return { runtime, runtimeName: await schemeOf(runtime, 'docker') };
}

/** `name://version` of the engine at this socket. */
export async function readDockerVersion(endpoint: string, clock: Clock): Promise<string> {
  const engine = new Engine(endpoint, clock);
  try {
    return await readVersion(engine);
  } finally {
    engine.close();
  }
}

/** Containers of a Docker engine, or of Podman's compatible socket. Connects with the first request. */
export function createDockerRuntime(options: DockerRuntimeOptions): ContainerRuntime {
  const { clock, log, nodeAddress, nodeName: node } = options;
  mkdirSync(options.stateDirectory, { recursive: true, mode: 0o700 });
  const stateDirectory = realpathSync(options.stateDirectory);
  const owner = { node, stateDirectory };
  const engine = new Engine(options.endpoint, clock);
  const files = createPodFiles(stateDirectory);
  const seccompProfile = (reference: string): string => readFileSync(join(files.seccompRoot, reference), 'utf8');
  const place = { owner, seccompProfile, oomScoreMin: oomScoreMin() };
  const logs = new LogKeeper({ engine, clock, log, limits: options.logs ?? DEFAULT_LOG_LIMITS });
  const store = new DockerStore({ engine, owner, files, logs, clock, log, nodeAddress });
  const containers = new DockerContainers({ engine, store, files, clock, place });
  const image = new SandboxImage(engine, options.sandboxImage);
  const sandboxes = new DockerSandboxes({ engine, store, containers, files, logs, image, place });
  const commands = new Commands(engine, clock);
  const watch = new DockerWatch({ engine, store, owner, clock, log });
  const inside = new InsideDialer({ clock });
  const runtime: ContainerRuntime = {
    abilities: engineAbilities(),
    volumes: { path: files.volumesPath, remove: files.removeVolumes, release: files.releaseMemory },
    userNamespaces: { mapsVolumes: true, refusal: async () => NO_USER_NAMESPACES },
    images: createImages(engine, image.name),
    streams: createStreams({ engine, store, commands, clock, inside }),
    version: () => readVersion(engine),
    health: () => readHealth(engine),
    usage: () => readUsage(engine, store),
    runSandbox: (config) => sandboxes.run(config),
    stopSandbox: (id, graceMs) => sandboxes.stop(id, graceMs),
    removeSandbox: (id) => sandboxes.remove(id),
    createContainer: (sandbox, config) => containers.create(sandbox, config),
    startContainer: (id) => containers.start(id),
    stopContainer: (id, graceMs) => containers.stop(id, graceMs),
    removeContainer: (id) => containers.remove(id),
    exec: (id, command, timeoutMs) => commands.run(id, command, timeoutMs),
    list: listingWithSweep(store, files),
    onChange: (listener) => watch.onChange(listener),
    close: async () => {
      inside.close();
      engine.close();
    },
  };
  return guarded(runtime, { ...options, stateDirectory, refusal: () => readGroupsRefusal(engine) });
}
