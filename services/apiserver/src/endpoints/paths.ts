import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import { dumpAnswer } from '../flow-control/dumps.ts';
import { asAccepted } from '../http/accepted-type.ts';
import { textAnswer } from '../http/answers.ts';
import { indentedAnswer } from '../http/indentation.ts';
import { notAcceptable, refuseOtherTypes, takesAny } from '../http/negotiation.ts';
import { nothingThere, notServed } from '../http/not-served.ts';
import { methodNotAllowed } from '../http/refusals.ts';
import { aggregatedType } from './aggregated-discovery.ts';
import type { Directory } from './directory.ts';
import { discoveryAnswer } from './discovery.ts';
import { type HealthCheck, healthAnswer, isHealthPath } from './health.ts';
import { openIdAnswer } from './openid.ts';
import { isBuiltInGroup } from './served-kinds.ts';
import { VERSION } from './version.ts';

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

interface Incoming {
  readonly request: ApiRequest;
  readonly user: User;
}

/** Everything that is not a resource. */
export async function answerPath(
  core: Core,
  { request, user }: Incoming,
  checks: readonly HealthCheck[],
): Promise<ApiResponse> {
  if (isHealthPath(request.path)) return healthAnswer(request, checks, core.serviceLevels);
  if (request.method !== 'GET' && isDocument(request.path)) throw methodNotAllowed();
  refuseOthers(request, core.directory);
  if (request.path === '/version' || request.path === '/version/') return indentedAnswer(200, VERSION);
  if (request.path === '/metrics') return textAnswer(200, core.metrics.render(), PROMETHEUS_TEXT);
  if (request.path === '/metrics/slis') return textAnswer(200, core.serviceLevels.render(), PROMETHEUS_TEXT);
  const found = discoveryAnswer(request, checks, core.directory);
  if (found !== undefined) return asAccepted(request, found);
  const epoch = core.clock.now() - core.clock.monotonic();
  const dump = dumpAnswer(request.path, { flowControl: core.flowControl, query: request.query, epoch });
  if (dump !== undefined) return dump;
  const goOn = (): Promise<void> | undefined => core.turns.goOn(user);
  const answer = core.openApi.answer(request, { now: core.clock.now(), goOn }) ?? openIdAnswer(core, request);
  if (answer !== undefined) return answer;
  if (isBelowServedGroup(request.path)) throw notServed();
  return nothingThere();
}

/** The paths of version and resource lists, and of the server's version. */
const isDocument = (path: string): boolean => /^\/(?:version|api|api\/v1|apis\/[^/]+\/[^/]+)\/?$/.test(path);

/** Reports unsupported media types; unknown groups support none. */
function refuseOthers(request: ApiRequest, directory: Directory): void {
  const { path, headers } = request;
  const accept = headers['accept'] ?? '';
  if (accept === '' || accept === 'application/json') return;
  if (/^\/version\/?$/.test(path)) {
    if (!takesAny(accept, ['application/json'])) throw notAcceptable(['application/json']);
  } else if (isDiscovery(path, directory)) {
    if (isRoute(path) && !takesAny(accept, DISCOVERY_TYPES)) throw notAcceptable(DISCOVERY_TYPES);
    if (!isAggregated(path) || aggregatedType(request) === undefined) refuseOtherTypes(accept);
  }
}

const DISCOVERY_TYPES = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

function isDiscovery(path: string, directory: Directory): boolean {
  if (/^\/(?:api|apis|api\/v1)\/?$/.test(path)) return true;
  const [, group = ''] = /^\/apis\/([^/]+)(?:\/[^/]+)?\/?$/.exec(path) ?? [];
  return group !== '' && directory.hasGroup(group);
}

/** Lists of groups and versions are not API routes: they accept any media type. */
const isRoute = (path: string): boolean => !/^\/apis(?:\/[^/]+)?\/?$/.test(path);

const isAggregated = (path: string): boolean => /^\/apis?\/?$/.test(path);

/** Unknown paths below a served group get a `Status`; elsewhere there is no API. */
function isBelowServedGroup(path: string): boolean {
  const [, root, group = ''] = path.split('/');
  return root === 'api' || root === 'version' || (root === 'apis' && group !== '' && isBuiltInGroup(group));
}
