import { PLACEMENT_PATH, type PlacementReport, placementPodOf } from '@holdfast/client/why';
import { describeError } from '@holdfast/platform';
import {
  createStatusServer as createServer,
  metricsAnswer,
  type StatusAnswer,
  type StatusServer,
  type StatusServerOptions,
  statusText,
} from '@holdfast/platform/status-server';
import type { CacheComparison } from './cache-comparer.ts';
import type { StatusAccess, StatusQuestion } from './status-access.ts';

export interface StatusSource {
  metrics(): string;
  resourceMetrics(): string;
  shownConfiguration(): unknown;
  isReady(): boolean;
  placementOf(namespace: string, name: string): PlacementReport | undefined;
  compareCache(): Promise<CacheComparison>;
}

export interface StatusServerDeps extends Pick<StatusServerOptions, 'address' | 'tls'> {
  readonly source: StatusSource;
  /** Decides about access to restricted paths. */
  readonly access: StatusAccess;
}

/** Serves health to everyone, and metrics and internals to authorized callers. Read-only. */
export function createStatusServer({ address, tls, ...deps }: StatusServerDeps): StatusServer {
  return createServer({
    component: 'scheduler',
    address,
    tls,
    tlsSettings: '--status-tls-cert-file and --status-tls-key-file',
    answer: (path, { authorization }) => answerTo(path, authorization, deps),
  });
}

async function answerTo(
  path: string,
  authorization: string | undefined,
  { source, access }: Pick<StatusServerDeps, 'source' | 'access'>,
): Promise<StatusAnswer> {
  switch (path) {
    case '/metrics':
      return (await refusalOf(path, access, authorization)) ?? metricsAnswer(source.metrics());
    case '/metrics/resources':
      return (await refusalOf(path, access, authorization)) ?? metricsAnswer(source.resourceMetrics());
    case '/configz':
      return (await refusalOf(path, access, authorization)) ?? json({ componentconfig: source.shownConfiguration() });
    case '/healthz':
    case '/livez':
      return statusText(200, 'ok');
    case '/readyz':
      return source.isReady() ? statusText(200, 'ok') : statusText(503, 'the first lists are not complete');
    case '/debug/cache':
      return (await refusalOf(path, access, authorization)) ?? compared(source);
    default:
      return answerToOther(path, authorization, { source, access });
  }
}

/** What is known of a pod is for those who may read the pod. */
async function answerToOther(
  path: string,
  authorization: string | undefined,
  { source, access }: Pick<StatusServerDeps, 'source' | 'access'>,
): Promise<StatusAnswer> {
  const pod = placementPodOf(path);
  if (pod === undefined) {
    const paths = '/metrics, /metrics/resources, /configz, /healthz, /livez, /readyz, /debug/cache';
    return statusText(404, `there are ${paths} and ${PLACEMENT_PATH}/namespaces/NAMESPACE/pods/NAME`);
  }
  const refusal = await refusalOf(pod, access, authorization);
  if (refusal !== undefined) return refusal;
  const report = source.placementOf(pod.namespace, pod.name);
  return report === undefined
    ? statusText(404, `no pod "${pod.name}" in "${pod.namespace}" waits for a node after a refusal`)
    : json(report);
}

async function refusalOf(
  asked: StatusQuestion,
  access: StatusAccess,
  authorization: string | undefined,
): Promise<StatusAnswer | undefined> {
  try {
    const verdict = await access(asked, authorization);
    if (verdict === 'allowed') return undefined;
    const what = typeof asked === 'string' ? `path "${asked}"` : `pod "${asked.name}" in "${asked.namespace}"`;
    return verdict === 'forbidden'
      ? statusText(403, `forbidden: you cannot get ${what}`)
      : statusText(401, 'Unauthorized');
  } catch (error) {
    return statusText(503, `the API could not authenticate you: ${describeError(error)}`);
  }
}

async function compared(source: StatusSource): Promise<StatusAnswer> {
  try {
    return json(await source.compareCache());
  } catch (error) {
    return statusText(503, `the API could not authorize you: ${describeError(error)}`);
  }
}

const json = (content: unknown): StatusAnswer => ({
  status: 200,
  type: 'application/json',
  body: `${JSON.stringify(content, undefined, 2)}\n`,
});
