import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { textAnswer } from '../http/answers.ts';
import { nothingThere } from '../http/not-served.ts';
import type { ServiceLevels } from './service-levels.ts';

/** One thing that readiness depends on. */
export interface HealthCheck {
  readonly name: string;
  /** Empty when all is well; else sentences on what is wrong. */
  readonly problems: () => Promise<readonly string[]> | readonly string[];
  /** Shown in the verbose answer although the check passes. */
  readonly cautions?: () => readonly string[];
  /** A failed liveness check asks for a restart; only checks that a restart can mend belong to it. */
  readonly forLiveness: boolean;
}

/** Names under which tools made for Kubernetes ask for the same things. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['etcd', 'store'],
  ['informer-sync', 'watch-cache'],
  ['log', 'ping'],
  ['poststarthook/rbac/bootstrap-roles', 'start'],
  ['poststarthook/scheduling/bootstrap-system-priority-classes', 'start'],
  ['poststarthook/start-system-namespaces-controller', 'start'],
]);

const ENDPOINT = /^\/(healthz|livez|readyz)(?:\/(.+?))?\/?$/;

export const isHealthPath = (path: string): boolean => ENDPOINT.test(path);

/** `/readyz`, `/readyz/ping`, ...: everything that can be asked for. */
export const healthPaths = (checks: readonly HealthCheck[]): readonly string[] =>
  ['healthz', 'livez', 'readyz'].flatMap((endpoint) => [
    `/${endpoint}`,
    ...checksOf(endpoint, checks).map(({ name }) => `/${endpoint}/${name}`),
  ]);

const checksOf = (endpoint: string, checks: readonly HealthCheck[]): readonly HealthCheck[] =>
  checks.filter(({ forLiveness }) => endpoint !== 'livez' || forLiveness);

const named = (name: string): string => ALIASES.get(name) ?? name;

export async function healthAnswer(
  request: ApiRequest,
  checks: readonly HealthCheck[],
  levels: Pick<ServiceLevels, 'observe'>,
): Promise<ApiResponse> {
  const [, endpoint = '', only] = ENDPOINT.exec(request.path) ?? [];
  const relevant = checksOf(endpoint, checks).filter(({ name }) => only === undefined || name === named(only));
  const excluded = new Set(request.query.getAll('exclude').filter((name) => name !== ''));
  const isExcluded = ({ name }: HealthCheck): boolean => [...excluded].some((each) => named(each) === name);
  const observed = async (check: HealthCheck): Promise<Result> => {
    const result = await look(check);
    levels.observe(check.name, endpoint, !result.failed);
    return result;
  };
  if (only !== undefined) return checkAnswer(relevant[0], observed);
  const results = await Promise.all(
    relevant.map(async (check) => (isExcluded(check) ? skipped(check) : observed(check))),
  );
  const healthy = results.every(({ failed }) => !failed);
  if (healthy && !request.query.has('verbose')) return textAnswer(200, 'ok');
  const unknown = [...excluded].filter((each) => relevant.every(({ name }) => name !== named(each))).sort();
  const lines = [
    ...results.map(({ line }) => line),
    ...(unknown.length === 0
      ? []
      : [
          `warn: some health checks cannot be excluded: no matches for ${unknown.map((name) => `"${name}"`).join(', ')}`,
        ]),
    `${endpoint} check ${healthy ? 'passed' : 'failed'}`,
  ];
  return textAnswer(healthy ? 200 : 500, `${lines.join('\n')}\n`);
}

/** Who asks for one check gets no line for it. */
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
  readonly why: string;
  readonly line: string;
}

const skipped = ({ name }: HealthCheck): Result => ({ failed: false, why: '', line: `[+]${name} excluded: ok` });

async function look(check: HealthCheck): Promise<Result> {
  const problems = await check.problems();
  const why = problems.join('; ');
  if (problems.length > 0) return { failed: true, why, line: `[-]${check.name} failed: ${why}` };
  const cautions = check.cautions?.() ?? [];
  const caution = cautions.length > 0 ? `, but ${cautions.join('; ')}` : '';
  return { failed: false, why, line: `[+]${check.name} ok${caution}` };
}
