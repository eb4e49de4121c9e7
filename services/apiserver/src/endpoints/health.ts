import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { textAnswer } from '../http/answers.ts';

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

const ENDPOINT = /^\/(healthz|livez|readyz)(?:\/([^/]+))?$/;

export const isHealthPath = (path: string): boolean => ENDPOINT.test(path);

export async function healthAnswer(request: ApiRequest, checks: readonly HealthCheck[]): Promise<ApiResponse> {
  const [, endpoint = '', only] = ENDPOINT.exec(request.path) ?? [];
  const excluded = new Set(request.query.getAll('exclude'));
  const relevant = checks.filter(
    (check) =>
      (endpoint !== 'livez' || check.forLiveness) &&
      (only === undefined || check.name === only) &&
      !excluded.has(check.name),
  );
  if (only !== undefined && relevant.length === 0) return textAnswer(404, `no check of the name ${only}\n`);
  const results = await Promise.all(
    relevant.map(async (check) => ({
      name: check.name,
      problems: await check.problems(),
      cautions: check.cautions?.() ?? [],
    })),
  );
  const healthy = results.every((result) => result.problems.length === 0);
  if (healthy && !request.query.has('verbose')) return textAnswer(200, 'ok');
  const lines = results.map(({ name, problems, cautions }) => {
    if (problems.length > 0) return `[-]${name} failed: ${problems.join('; ')}`;
    return cautions.length > 0 ? `[+]${name} ok, but ${cautions.join('; ')}` : `[+]${name} ok`;
  });
  return textAnswer(healthy ? 200 : 500, `${lines.join('\n')}\n${endpoint} check ${healthy ? 'passed' : 'failed'}\n`);
}
