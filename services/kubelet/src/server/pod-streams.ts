import type { Pod } from '@holdfast/api';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import { type ContainerLife, livesOf } from '../domain/records.ts';
import type { ContainerRuntime, RuntimeStreams } from '../runtime/port.ts';
import type { StreamOptions } from '../streaming/command-connection.ts';
import type { StreamDeps } from '../streaming/serve.ts';
import { containerName } from './pod-logs.ts';

export interface PodStreamsDeps extends StreamDeps {
  readonly runtime: ContainerRuntime;
}

export interface StreamTarget {
  readonly pod: Pod;
  /** '' = the only one. */
  readonly container: string;
}

/** Loaded for the first who streams: two protocols and their compression. */
const streaming = () => import('../streaming/serve.ts');

/** `POST /exec/...`: a command beside a running container. */
export async function execInPod(deps: PodStreamsDeps, request: ApiRequest, target: StreamTarget): Promise<ApiResponse> {
  const streams = streamsOf(deps.runtime);
  const command = request.query.getAll('command');
  if (command.length === 0) throw badRequest('you must specify at least one command for the container');
  const options = readStreamOptions(request.query);
  const { id } = await runningContainer(deps.runtime, target);
  const { serveCommand } = await streaming();
  return serveCommand(deps, request, {
    options,
    open: () => streams.exec(id, { ...options, command }),
    what: 'error executing command in container',
  });
}

/** `POST /attach/...`: the container's own streams. */
export async function attachToPod(
  deps: PodStreamsDeps,
  request: ApiRequest,
  target: StreamTarget,
): Promise<ApiResponse> {
  const streams = streamsOf(deps.runtime);
  const options = readStreamOptions(request.query);
  const { id } = await runningContainer(deps.runtime, target);
  const { serveCommand } = await streaming();
  return serveCommand(deps, request, {
    options,
    open: () => streams.attach(id, options),
    what: 'error attaching to container',
  });
}

/** `POST /portForward/...`: connections into the pod's network. */
export async function forwardToPod(deps: PodStreamsDeps, request: ApiRequest, pod: Pod): Promise<ApiResponse> {
  const streams = streamsOf(deps.runtime);
  const { uid: podUid = '', name = '', namespace = '' } = pod.metadata;
  const sandbox = (await deps.runtime.list({ podUid })).find(({ state }) => state === 'ready');
  if (sandbox === undefined) throw internal(`pod not running ("${name}_${namespace}")`);
  const { servePorts } = await streaming();
  return servePorts(deps, request, {
    connect: (port) => streams.portForward(sandbox.id, port),
    what: (port) => `error forwarding port ${port} to pod ${name}, uid ${podUid}`,
  });
}

function streamsOf({ streams }: ContainerRuntime): RuntimeStreams {
  if (streams !== undefined) return streams;
  throw new StatusError({ code: 501, message: 'the container runtime of this node carries no streams' });
}

async function runningContainer(runtime: ContainerRuntime, { pod, container }: StreamTarget): Promise<ContainerLife> {
  const name = containerName(pod, { podName: pod.metadata.name ?? '', container });
  const [life] = livesOf(name, await runtime.list({ podUid: pod.metadata.uid ?? '' }));
  if (life?.state === 'running') return life;
  throw internal(`container not found ("${name}")`);
}

const internal = (message: string): StatusError => new StatusError({ code: 500, reason: 'InternalError', message });

/** The names of kubelets. A terminal has one output. */
function readStreamOptions(query: URLSearchParams): StreamOptions {
  const [stdin, stdout, stderr, tty] = ['input', 'output', 'error', 'tty'].map((name) => isOn(query.get(name)));
  const options = { stdin: stdin === true, stdout: stdout === true, stderr: stderr === true && tty !== true };
  if (!options.stdin && !options.stdout && !options.stderr) {
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  }
  return { ...options, tty: tty === true };
}

const isOn = (text: string | null): boolean => text === '1' || text === 'true';
