import { qualifiedResource, StatusError } from '@holdfast/machinery';
import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';
import type { User } from '../identity.ts';
import type { Authorizer } from './port.ts';

/** Throws 403 in the words of Kubernetes when no authorizer allows the request. */
export async function authorize(authorizers: readonly Authorizer[], user: User, info: RequestInfo): Promise<void> {
  if ((await isAllowed(authorizers, user, info)) !== undefined) return;
  throw refusal(user, info);
}

export async function isAllowed(
  authorizers: readonly Authorizer[],
  user: User,
  info: RequestInfo,
): Promise<string | undefined> {
  for (const authorizer of authorizers) {
    const opinion = authorizer.authorize(user, info);
    const reason = opinion instanceof Promise ? await opinion : opinion;
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function refusal(user: User, info: RequestInfo): StatusError {
  const who = `User ${JSON.stringify(user.name)} cannot ${info.verb}`;
  if (info.kind === 'path') {
    return new StatusError({
      code: 403,
      reason: 'Forbidden',
      message: `forbidden: ${who} path ${JSON.stringify(info.path)}`,
      details: {},
    });
  }
  const head = `${qualifiedResource(info)}${info.name === '' ? '' : ` ${JSON.stringify(info.name)}`} is forbidden`;
  return new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `${head}: ${who} resource ${JSON.stringify(resourceOf(info))} in API group ${JSON.stringify(info.group)} ${scopeOf(info)}`,
    details: {
      ...(info.name === '' ? {} : { name: info.name }),
      ...(info.group === '' ? {} : { group: info.group }),
      kind: info.resource,
    },
  });
}

const resourceOf = (info: ResourceRequest): string =>
  info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;

const scopeOf = (info: ResourceRequest): string =>
  info.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(info.namespace)}`;
