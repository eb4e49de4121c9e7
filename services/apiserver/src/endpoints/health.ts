import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { textAnswer } from '../http/answers.ts';
import { nothingThere } from '../http/not-served.ts';
import type { ServiceLevels } from './service-levels.ts';

/** One dependency of readiness. */
export interface HealthCheck {
  readonly name: string;
  /** Empty when all is well; else sentences on what is wrong. */
  readonly problems: () => Promise<readonly string[]> | readonly string[];
  /** Shown in the verbose answer although the check passes. */
  readonly cautions?: () => readonly string[];
  /** Shown in the verbose answer when the check passes. */
  readonly about?: string;
  /** A failed liveness check asks for a restart; only checks that a restart can mend belong to it. */
  readonly forLiveness: boolean;
}

/** Kubernetes' names for our checks, in its order. Tools look for these names. */
const LISTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['ping', ['ping', 'log']],
  ['store', ['etcd', 'etcd-readiness']],
  ['watch-cache', ['informer-sync']],
  [
    'start',
    [
      'poststarthook/start-apiserver-admission-initializer',
      'poststarthook/generic-apiserver-start-informers',
      'poststarthook/priority-and-fairness-config-consumer',
      'poststarthook/priority-and-fairness-filter',
      'poststarthook/storage-object-count-tracker-hook',
      'poststarthook/start-apiextensions-informers',
      'poststarthook/start-apiextensions-controllers',
      'poststarthook/crd-informer-synced',
      'poststarthook/start-system-namespaces-controller',
      'poststarthook/start-cluster-authentication-info-controller',
      'poststarthook/start-legacy-token-tracking-controller',
      'poststarthook/start-service-ip-repair-controllers',
      'poststarthook/rbac/bootstrap-roles',
      'poststarthook/scheduling/bootstrap-system-priority-classes',
      'poststarthook/priority-and-fairness-config-producer',
      'poststarthook/bootstrap-controller',
      'poststarthook/start-kube-aggregator-informers',
      'poststarthook/apiservice-status-local-available-controller',
      'poststarthook/apiservice-status-remote-available-controller',
      'poststarthook/apiservice-registration-controller',
      'poststarthook/apiservice-discovery-controller',
      'poststarthook/kube-apiserver-autoregistration',
      'autoregister-completion',
      'poststarthook/apiservice-openapi-controller',
      'poststarthook/apiservice-openapiv3-controller',
    ],
  ],
]);

/** Kubernetes has these for readiness alone. */
const ONLY_READYZ: ReadonlySet<string> = new Set(['etcd-readiness', 'informer-sync']);

const ENDPOINT = /^\/(healthz|livez|readyz)(?:\/(.+?))?\/?$/;

export const isHealthPath = (path: string): boolean => ENDPOINT.test(path);

/** `/readyz`, `/readyz/ping`, ...: all valid paths. */
export const healthPaths = (checks: readonly HealthCheck[]): readonly string[] =>
  ['healthz', 'livez', 'readyz'].flatMap((endpoint) => {
    const lines = linesOf(endpoint, checks);
    const names = new Set([...lines.map(({ check }) => check.name), ...lines.map(({ name }) => name)]);
    return [`/${endpoint}`, ...[...names].map((name) => `/${endpoint}/${name}`)];
  });

/** One line of a verbose response: a name of Kubernetes, and our check behind it. */
interface Line {
  readonly name: string;
  readonly check: HealthCheck;
}

const linesOf = (endpoint: string, checks: readonly HealthCheck[]): readonly Line[] =>
  checks
    .filter(({ forLiveness }) => endpoint !== 'livez' || forLiveness)
    .flatMap((check) => (LISTED.get(check.name) ?? [check.name]).map((name) => ({ name, check })))
    .filter(({ name }) => endpoint === 'readyz' || !ONLY_READYZ.has(name));

const isCalled = ({ name, check }: Line, asked: string): boolean => name === asked || check.name === asked;

export async function healthAnswer(
  request: ApiRequest,
  checks: readonly HealthCheck[],
  levels: Pick<ServiceLevels, 'observe'>,
): Promise<ApiResponse> {
  const [, endpoint = '', only] = ENDPOINT.exec(request.path) ?? [];
  const lines = linesOf(endpoint, checks);
  const observed = async (check: HealthCheck): Promise<Result> => {
    const result = await look(check);
    levels.observe(check.name, endpoint, !result.failed);
    return result;
  };
  if (only !== undefined) return checkAnswer(lines.find((line) => isCalled(line, only))?.check, observed);
  const excluded = [...new Set(request.query.getAll('exclude').filter((name) => name !== ''))];
  const isExcluded = (line: Line): boolean => excluded.some((name) => isCalled(line, name));
  const wanted = new Set(lines.filter((line) => !isExcluded(line)).map(({ check }) => check));
  const results = new Map(await Promise.all([...wanted].map(async (check) => [check, await observed(check)] as const)));
  const healthy = [...results.values()].every(({ failed }) => !failed);
  if (healthy && !request.query.has('verbose')) return textAnswer(200, 'ok');
  const unknown = excluded.filter((name) => !lines.some((line) => isCalled(line, name))).sort();
  const text = [
    ...lines.map((line) => lineText(line.name, isExcluded(line) ? undefined : results.get(line.check))),
    ...(unknown.length === 0
      ? []
      : [
          `warn: some health checks cannot be excluded: no matches for ${unknown.map((name) => `"${name}"`).join(', ')}`,
        ]),
    `${endpoint} check ${healthy ? 'passed' : 'failed'}`,
  ];
  return textAnswer(healthy ? 200 : 500, `${text.join('\n')}\n`);
}

function lineText(name: string, result: Result | undefined): string {
  if (result === undefined) return `[+]${name} excluded: ok`;
  const { failed, why } = result;
  return failed ? `[-]${name} failed: ${why}` : `[+]${name} ok${why}`;
}

/** The response to a single check has no line for it. */
async function checkAnswer(
  check: HealthCheck | undefined,
  look: (check: HealthCheck) => Promise<Result>,
): Promise<ApiResponse> {
  if (check === undefined) return nothingThere();
  const { failed, why } = await look(check);
  return failed ? textAnswer(500, `internal server error: ${why}\n`) : textAnswer(200, 'ok');
}

interface Result {
  readonly failed: boolean;
  /** The failure or, for a passed check, the text after `ok`. */
  readonly why: string;
}

async function look(check: HealthCheck): Promise<Result> {
  const problems = await check.problems();
  if (problems.length > 0) return { failed: true, why: problems.join('; ') };
  const cautions = check.cautions?.() ?? [];
  const about = check.about === undefined ? '' : ` (${check.about})`;
  return { failed: false, why: `${about}${cautions.length > 0 ? `, but ${cautions.join('; ')}` : ''}` };
}
