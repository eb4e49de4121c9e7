import type { ContainerPort, GRPCAction, HTTPGetAction, IntOrString, LifecycleHandler } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import { PlainAnswerError } from '../domain/plain-answer-error.ts';
import { HOOK_CONNECT_MS, PROBE_REDIRECTS_MAX } from '../limits.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import type { HttpAnswer, ProbeNetwork } from './probe-network.ts';

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
  /** Gives up what runs. */
  readonly signal?: AbortSignal | undefined;
}

/** The check itself could not be made: nothing is known of the container. */
export class CheckError extends Error {
  override readonly name = 'CheckError';
}

/**
 * Runs a postStart or preStop handler; rejects when it failed. Returns a warning when its server speaks HTTP where the
 * handler says HTTPS.
 */
export async function runHook(
  deps: HandlerDeps,
  hook: LifecycleHandler,
  target: HandlerTarget,
): Promise<string | undefined> {
  if (hook.httpGet !== undefined) return runHttpHook(deps, hook.httpGet, target);
  await runOtherHook(deps, hook, target);
  return undefined;
}

async function runOtherHook(deps: HandlerDeps, hook: LifecycleHandler, target: HandlerTarget): Promise<void> {
  if (hook.exec !== undefined) return runExec(deps, hook.exec.command ?? [], target);
  if (hook.tcpSocket !== undefined) {
    const port = portNumber(hook.tcpSocket.port, target.ports);
    return deps.network.connect(hook.tcpSocket.host ?? target.podIp, port, Math.min(target.timeoutMs, HOOK_CONNECT_MS));
  }
  if (hook.sleep !== undefined) return deps.clock.sleep(hook.sleep.seconds * 1000, target.signal);
  throw new Error('the handler has no action that this node supports');
}

export async function runExec(deps: HandlerDeps, command: readonly string[], target: HandlerTarget): Promise<void> {
  const { exitCode, output } = await deps.runtime.exec(target.id, command, target.timeoutMs, target.signal);
  if (exitCode !== 0) throw new Error(`command '${command.join(' ')}' exited with ${exitCode}: ${output}`);
}

/** As in Kubernetes, any answer is a success, whatever its status: a hook tells the container something, and asks nothing. */
async function runHttpHook(
  deps: HandlerDeps,
  action: HTTPGetAction,
  target: HandlerTarget,
): Promise<string | undefined> {
  const request = httpRequest(action, target, 'kube-lifecycle/1.32');
  try {
    await followRedirects(deps, request);
    return undefined;
  } catch (error) {
    if (!(error instanceof PlainAnswerError)) throw error;
    // Kubernetes sent all hooks as plain HTTP once, and manifests of that time still work.
    if (!(await answersInPlain(deps, request))) throw error;
    return `request to HTTPS lifecycle hook ${new URL(request.url).host} got HTTP response, retry with HTTP succeeded`;
  }
}

async function answersInPlain(deps: HandlerDeps, { url, headers, ...limits }: HttpRequest): Promise<boolean> {
  // What was meant for a reader over TLS must not be sent in plain text.
  const { authorization: _secret, ...others } = headers;
  const request = { url: url.replace(/^https:/, 'http:'), headers: others, ...limits };
  return followRedirects(deps, request).then(
    () => true,
    () => false,
  );
}

/** Returns a warning when the check ended at a redirect that is not followed: the container counts as healthy. */
export async function runHttpGet(
  deps: HandlerDeps,
  action: HTTPGetAction,
  target: HandlerTarget,
): Promise<string | undefined> {
  const { status, body = '' } = await followRedirects(deps, httpRequest(action, target, 'kube-probe/1.32'));
  if (status < 200 || status >= 400) throw new Error(`HTTP probe failed with statuscode: ${status}`);
  return status < 300 ? undefined : `Probe terminated redirects, Response body: ${body}`;
}

type HttpRequest = Parameters<ProbeNetwork['httpGet']>[0];

function httpRequest(action: HTTPGetAction, target: HandlerTarget, userAgent: string): HttpRequest {
  const host = action.host === undefined || action.host === '' ? target.podIp : action.host;
  const path = action.path ?? '/';
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const url = `${scheme}://${bracketed}:${portNumber(action.port, target.ports)}${path.startsWith('/') ? path : `/${path}`}`;
  const given = Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]));
  const headers = { 'user-agent': userAgent, accept: '*/*', ...given };
  return { url, headers, timeoutMs: target.timeoutMs, signal: target.signal };
}

const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Within the same host only: a probe must not be led to where the pod itself may not reach. All of it takes one time-out. */
async function followRedirects(
  { network, clock }: HandlerDeps,
  { url: first, headers, timeoutMs, signal }: HttpRequest,
): Promise<HttpAnswer> {
  const endsAt = clock.monotonic() + timeoutMs;
  let url = new URL(first);
  let sent = headers;
  for (let asked = 1; ; asked++) {
    // Whole milliseconds: events with the same words are counted as one.
    const left = Math.max(1, Math.ceil(endsAt - clock.monotonic()));
    const answer = await network.httpGet({
      url: asked === 1 ? first : url.href,
      headers: sent,
      timeoutMs: left,
      signal,
    });
    const { location = '', status } = answer;
    if (!FOLLOWED.has(status) || location === '' || !URL.canParse(location, url.href)) return answer;
    const next = new URL(location, url);
    if (next.hostname !== url.hostname || !/^https?:$/.test(next.protocol)) return answer;
    if (asked >= PROBE_REDIRECTS_MAX) throw new Error(`stopped after ${PROBE_REDIRECTS_MAX} redirects`);
    // A host that the probe names is that of its own request and of links without one.
    if (URL.canParse(location)) sent = Object.fromEntries(Object.entries(sent).filter(([name]) => name !== 'host'));
    url = next;
  }
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
