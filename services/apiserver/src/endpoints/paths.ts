import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { Core } from '../core.ts';
import { jsonAnswer, textAnswer } from '../http/answers.ts';
import { nothingThere, notServed } from '../http/not-served.ts';
import { methodNotAllowed } from '../http/refusals.ts';
import { discoveryAnswer } from './discovery.ts';
import { type HealthCheck, healthAnswer, isHealthPath } from './health.ts';
import { openIdAnswer } from './openid.ts';
import { isServedGroup } from './served-kinds.ts';
import { VERSION } from './version.ts';

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/** Everything that is not a resource. */
export async function answerPath(
  core: Core,
  request: ApiRequest,
  checks: readonly HealthCheck[],
): Promise<ApiResponse> {
  if (isHealthPath(request.path)) return healthAnswer(request, checks);
  if (request.method !== 'GET' && isDocument(request.path)) throw methodNotAllowed();
  if (request.path === '/version' || request.path === '/version/') return jsonAnswer(200, VERSION);
  if (request.path === '/metrics') return textAnswer(200, core.metrics.render(), PROMETHEUS_TEXT);
  const answer = discoveryAnswer(request, checks) ?? core.openApi.answer(request) ?? openIdAnswer(core, request);
  if (answer !== undefined) return answer;
  if (isBelowServedGroup(request.path)) throw notServed();
  return nothingThere();
}

/** What only a list of versions or resources stands at, or the version of the server. */
const isDocument = (path: string): boolean => /^\/(?:version|api|api\/v1|apis\/[^/]+\/[^/]+)\/?$/.test(path);

/** Below a group that is served an unknown path is told in a `Status`; elsewhere there is no API that could. */
function isBelowServedGroup(path: string): boolean {
  const [, root, group = ''] = path.split('/');
  return root === 'api' || root === 'version' || (root === 'apis' && isServedGroup(group));
}
