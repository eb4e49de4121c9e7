import { qualifiedResource } from '@holdfast/machinery';
import { type AuditNotes, DECISION } from '../audit/notes.ts';
import type { User } from '../authentication/identity.ts';
import { RequestForbidden } from '../http/refusals.ts';
import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';
import { withSelectedName } from '../http/selected-name.ts';
import type { Authorizer } from './port.ts';

/** Throws 403 in the words of Kubernetes when no authorizer allows the request. */
export function authorize(
  authorizers: readonly Authorizer[],
  user: User,
  info: RequestInfo,
  audit?: AuditNotes,
): Promise<void> | undefined {
  const asked = withSelectedName(info);
  const reason = isAllowed(authorizers, user, asked);
  if (reason instanceof Promise) return reason.then((late) => refuseWithout(late, authorizers, user, asked, audit));
  refuseWithout(reason, authorizers, user, asked, audit);
  return undefined;
}

function refuseWithout(
  reason: string | undefined,
  authorizers: readonly Authorizer[],
  ...[user, info, audit]: readonly [User, RequestInfo, AuditNotes | undefined]
): void {
  if (reason !== undefined) {
    if (audit !== undefined) note(audit, 'allow', reason);
    return;
  }
  const why = whyNot(authorizers, user, info);
  if (audit !== undefined) note(audit, 'forbid', why);
  throw refusal(user, info, why);
}

function note(audit: AuditNotes, decision: 'allow' | 'forbid', reason: string): void {
  audit.annotate(DECISION, decision);
  audit.annotate('authorization.k8s.io/reason', reason);
}

/** Returns the authorizers' reasons for a refusal; '' when there are none. */
export const whyNot = (authorizers: readonly Authorizer[], user: User, info: RequestInfo): string =>
  authorizers.flatMap((each) => each.whyNot?.(user, info) ?? []).join('\n');

/** Returns the reason of the permission; synchronous unless an authorizer needs a lookup. */
export function isAllowed(
  authorizers: readonly Authorizer[],
  user: User,
  info: RequestInfo,
): string | undefined | Promise<string | undefined> {
  for (let i = 0; i < authorizers.length; i++) {
    const opinion = authorizers[i]?.authorize(user, info);
    if (opinion instanceof Promise) {
      return opinion.then((reason) => reason ?? isAllowed(authorizers.slice(i + 1), user, info));
    }
    if (opinion !== undefined) return opinion;
  }
  return undefined;
}

function refusal(user: User, info: RequestInfo, why: string): RequestForbidden {
  const because = why === '' ? '' : `: ${why}`;
  const who = `User ${JSON.stringify(user.name)} cannot ${info.verb}`;
  if (info.kind === 'path') {
    return new RequestForbidden({
      code: 403,
      reason: 'Forbidden',
      message: `forbidden: ${escaped(`${who} path ${JSON.stringify(info.path)}`)}${because}`,
      details: {},
    });
  }
  const head = `${qualifiedResource(info)}${info.name === '' ? '' : ` ${JSON.stringify(info.name)}`} is forbidden`;
  return new RequestForbidden({
    code: 403,
    reason: 'Forbidden',
    message: `${head}: ${escaped(`${who} resource ${JSON.stringify(resourceOf(info))} in API group ${JSON.stringify(info.group)} ${scopeOf(info)}`)}${because}`,
    details: {
      ...(info.name === '' ? {} : { name: info.name }),
      ...(info.group === '' ? {} : { group: info.group }),
      kind: info.resource,
    },
  });
}

/** Browsers may show it. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const resourceOf = (info: ResourceRequest): string =>
  info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;

const scopeOf = (info: ResourceRequest): string =>
  info.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(info.namespace)}`;
