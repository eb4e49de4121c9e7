import type { Pod } from '@holdfast/api';
import { badRequest } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { readLogFile } from '../adapters/log-file.ts';
import { allContainers, apiStatusOf, type ContainerLife, livesOf } from '../domain/records.ts';
import type { ContainerRuntime } from '../runtime/port.ts';

export interface LogRequest {
  readonly namespace: string;
  readonly podName: string;
  /** May be left out when the pod has one container. */
  readonly container?: string;
  /** The life before the present one. */
  readonly previous?: boolean;
  readonly follow?: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly timestamps?: boolean;
  /** Seconds before now, or a time: only what was written since. */
  readonly sinceSeconds?: number;
  readonly sinceTime?: number;
  readonly signal?: AbortSignal;
}

/** The log of a container. Rejects with the messages and the 400 that clients know. */
export async function podLogs(
  deps: { readonly runtime: ContainerRuntime; readonly clock: Clock },
  pod: Pod,
  request: LogRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const { runtime, clock } = deps;
  const name = containerName(pod, request);
  const podUid = pod.metadata.uid ?? '';
  const sandboxes = await runtime.list({ podUid });
  const life = chooseLife(livesOf(name, sandboxes), pod, { name, previous: request.previous === true });
  const containers = sandboxes.flatMap((sandbox) => sandbox.containers);
  const { logPath: path, logFormat: format } = containers.find(({ id }) => id === life.id) ?? {};
  if (path === undefined) return nothing();
  const { tailLines, limitBytes, signal, timestamps } = request;
  const sinceMs = sinceOf(request, clock.now());
  return readLogFile(clock, {
    path,
    ...(format === undefined ? {} : { format }),
    ...(timestamps === undefined ? {} : { timestamps }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(signal === undefined ? {} : { signal }),
    ...(request.follow === true ? { isOver: () => hasEnded(runtime, podUid, life.id) } : {}),
  });
}

function sinceOf({ sinceSeconds, sinceTime }: LogRequest, now: number): number | undefined {
  return sinceSeconds === undefined ? sinceTime : now - sinceSeconds * 1000;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Returns the requested container; '' or nothing selects the only one. */
export function containerName(pod: Pod, request: Pick<LogRequest, 'podName' | 'container'>): string {
  const { containers, initContainers = [] } = pod.spec;
  const names = containers.map(({ name }) => name);
  const all = allContainers(pod).map(({ name }) => name);
  if (request.container !== undefined && request.container !== '') {
    if (all.includes(request.container)) return request.container;
    throw badRequest(`container ${request.container} is not valid for pod ${request.podName}`);
  }
  const [only, ...more] = names;
  if (only !== undefined && more.length === 0) return only;
  throw badRequest(
    `a container name must be specified for pod ${request.podName}, choose one of: [${names.join(' ')}]${
      initContainers.length === 0
        ? ''
        : ` or one of the init containers: [${initContainers.map(({ name }) => name).join(' ')}]`
    }`,
  );
}

function chooseLife(
  lives: readonly ContainerLife[],
  pod: Pod,
  of: { readonly name: string; readonly previous: boolean },
): ContainerLife {
  const started = lives.filter(({ state }) => state !== 'created');
  const life = started[of.previous ? 1 : 0];
  if (life !== undefined) return life;
  const { name: podName = '' } = pod.metadata;
  if (of.previous) throw badRequest(`previous terminated container "${of.name}" in pod "${podName}" not found`);
  const reason = apiStatusOf(of.name, pod)?.state.waiting?.reason ?? 'ContainerCreating';
  throw badRequest(`container "${of.name}" in pod "${podName}" is waiting to start: ${reason}`);
}

async function hasEnded(runtime: ContainerRuntime, podUid: string, id: string): Promise<boolean> {
  const containers = (await runtime.list({ podUid })).flatMap((sandbox) => sandbox.containers);
  return containers.find((container) => container.id === id)?.state !== 'running';
}
