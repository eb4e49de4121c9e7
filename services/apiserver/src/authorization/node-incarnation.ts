import {
  INCARNATION_HEADER,
  judgeIncarnation,
  LEASES,
  NODES,
  OTHER_INCARNATION,
  parseIncarnation,
} from '@holdfast/api';
import type { ApiRequest } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { nodeOf, type User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';
import { isKubeletKind } from './kubelet-kinds.ts';

/**
 * The name of a node is not its identity: a machine that joins under the name and with the credential of another sees none of its pods and
 * writes nothing of it while the other may live. It may look at the Node and say who it is, nothing else.
 */
export async function refuseOtherIncarnation(
  core: Core,
  { user, request }: { readonly user: User; readonly request: ApiRequest },
  info: RequestInfo,
): Promise<void> {
  const name = nodeOf(user);
  if (name === undefined || info.kind === 'path' || isHarmless(info) || core.ownNodes.has(name)) return;
  const verdict = await judge(core, request, name);
  if (verdict.kind === 'same' || (verdict.kind === 'mayClaim' && isClaim(info))) return;
  const why = verdict.kind === 'refused' ? verdict.why : 'this machine has not claimed the node yet';
  throw refusal(name, why);
}

/** True when a check is needed: most requests come from other users and need not wait. */
export const isOfNode = (user: User): boolean => nodeOf(user) !== undefined;

/** The cache may lag behind a claim or a deletion: it may let through, it does not refuse. */
async function judge(core: Core, request: ApiRequest, name: string): Promise<ReturnType<typeof judgeIncarnation>> {
  const claimed = parseIncarnation(request.headers[INCARNATION_HEADER]);
  const lease = { namespace: 'kube-node-lease', name };
  const { reader, clock } = core;
  const node = reader.cached(NODES, { name });
  const verdict = judgeIncarnation({ node, lease: reader.cached(LEASES, lease), claimed, nowMs: clock.now() });
  if (verdict.kind === 'same' && node !== undefined) return verdict;
  const [freshNode, freshLease] = await Promise.all([reader.fresh(NODES, { name }), reader.fresh(LEASES, lease)]);
  return judgeIncarnation({ node: freshNode, lease: freshLease, claimed, nowMs: clock.now() });
}

/** Requests that any node may make without acting under its name. */
const HARMLESS: ReadonlySet<string> = new Set([
  'events',
  'services',
  'runtimeclasses',
  'csidrivers',
  'tokenreviews',
  'subjectaccessreviews',
  'certificatesigningrequests',
]);

const isHarmless = (info: ResourceRequest): boolean =>
  isKubeletKind(info) && (HARMLESS.has(info.resource) || (info.resource === 'nodes' && info.verb === 'get'));

const isClaim = ({ group, resource, subresource, verb }: ResourceRequest): boolean =>
  group === '' && resource === 'nodes' && subresource === '' && (verb === 'patch' || verb === 'update');

const refusal = (name: string, why: string): StatusError =>
  new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `node "${name}" is bound to another incarnation: ${why}; when the machine that has this name is surely off, delete or fence the Node`,
    details: { name, kind: 'nodes', causes: [{ reason: OTHER_INCARNATION, message: why }] },
  });
