import type { ContainerPort, GRPCAction, HTTPGetAction, IntOrString, LifecycleHandler } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import type { ProbeNetwork } from './probe-network.ts';
import type { ContainerRuntime } from './runtime/port.ts';

export interface HandlerDeps {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly network: ProbeNetwork;
}

export interface HandlerTarget {
  /** Container id. */
  readonly id: string;
  readonly podIp: string;
  readonly ports: readonly ContainerPort[];
  readonly timeoutMs: number;
}

/** The check itself could not be made: nothing is known of the container. */
export class CheckError extends Error {
  override readonly name = 'CheckError';
}

/** Runs a postStart or preStop handler; rejects when it failed. */
export async function runHook(deps: HandlerDeps, hook: LifecycleHandler, target: HandlerTarget): Promise<void> {
  if (hook.exec !== undefined) return runExec(deps, hook.exec.command ?? [], target);
  if (hook.httpGet !== undefined) return runHttpGet(deps, hook.httpGet, target);
  if (hook.tcpSocket !== undefined) {
    const port = portNumber(hook.tcpSocket.port, target.ports);
    return deps.network.connect(hook.tcpSocket.host ?? target.podIp, port, target.timeoutMs);
  }
  if (hook.sleep !== undefined) return deps.clock.sleep(hook.sleep.seconds * 1000);
  throw new Error('the handler names nothing that this node can run');
}

export async function runExec(deps: HandlerDeps, command: readonly string[], target: HandlerTarget): Promise<void> {
  const { exitCode, output } = await deps.runtime.exec(target.id, command, target.timeoutMs);
  if (exitCode !== 0) throw new Error(`command '${command.join(' ')}' exited with ${exitCode}: ${output}`);
}

export async function runHttpGet(deps: HandlerDeps, action: HTTPGetAction, target: HandlerTarget): Promise<void> {
  const host = action.host === undefined || action.host === '' ? target.podIp : action.host;
  const path = action.path ?? '/';
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const url = `${scheme}://${bracketed}:${portNumber(action.port, target.ports)}${path.startsWith('/') ? path : `/${path}`}`;
  const given = Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]));
  const headers = { 'user-agent': 'kube-probe/1.32', accept: '*/*', ...given };
  const { status } = await deps.network.httpGet({ url, headers, timeoutMs: target.timeoutMs });
  if (status < 200 || status >= 400) throw new Error(`HTTP probe failed with statuscode: ${status}`);
}

export async function runGrpc(deps: HandlerDeps, action: GRPCAction, target: HandlerTarget): Promise<void> {
  const { port, service = '' } = action;
  const gone = new AbortController();
  const deadline = Promise.withResolvers<never>();
  const timer = deps.clock.timer(target.timeoutMs, () => {
    deadline.reject(new Error(`timeout: health rpc did not complete within ${target.timeoutMs / 1000}s`));
  });
  const check = deps.network.grpcHealth({ host: target.podIp, port, service, signal: gone.signal });
  const { status } = await Promise.race([check, deadline.promise]).finally(() => {
    timer.cancel();
    gone.abort();
  });
  if (status !== 'SERVING') throw new Error(`service unhealthy (responded with "${status}")`);
}

export function portNumber(port: IntOrString, ports: readonly ContainerPort[]): number {
  if (typeof port === 'number') return port;
  const named = ports.find(({ name }) => name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(named)) throw new CheckError(`couldn't find port "${port}" of the container`);
  return named;
}
