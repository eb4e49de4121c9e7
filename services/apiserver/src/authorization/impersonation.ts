import type { ApiRequest } from '@holdfast/client';
import { ANONYMOUS, AUTHENTICATED_GROUP, type User } from '../authentication/identity.ts';
import { IMPERSONATE, valuesOf } from '../http/header-values.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { authorize } from './chain.ts';
import type { Authorizer } from './port.ts';

const EXTRA_PREFIX = `${IMPERSONATE}extra-`;
const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Whom the request wants to act as, if the user may act as them; else the user. */
export async function impersonate(authorizers: readonly Authorizer[], user: User, request: ApiRequest): Promise<User> {
  const wanted = readWanted(request);
  if (wanted === undefined) return user;
  for (const info of permissionsFor(wanted, request.path)) await authorize(authorizers, user, info);
  return asUser(wanted);
}

/** Rare. */
export function wantsToImpersonate({ headers }: ApiRequest): boolean {
  for (const header in headers) if (header.startsWith(IMPERSONATE)) return true;
  return false;
}

/** Describes impersonation headers that name no user, in Go's notation; `undefined` when the request is valid. */
export function wantedOfNobody(request: ApiRequest): string | undefined {
  const wanted = readWanted(request);
  if (wanted === undefined || wanted.name !== '') return undefined;
  const printed = [
    ...wanted.groups.map((group) => `{Group  ${group}    }`),
    ...Object.entries(wanted.extra).flatMap(([key, values]) =>
      values.map((value) => `{UserExtra  ${value}  authentication.k8s.io/v1  ${key}}`),
    ),
    ...(wanted.uid === '' ? [] : [`{UID  ${wanted.uid}  authentication.k8s.io/v1  }`]),
  ];
  return `requested [${printed.join(' ')}] without impersonating a user`;
}

interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

function readWanted({ headers }: ApiRequest): Wanted | undefined {
  const [name = ''] = listOf(headers['impersonate-user']);
  const [uid = ''] = listOf(headers['impersonate-uid']);
  const groups = listOf(headers['impersonate-group']);
  const extra = Object.fromEntries(
    Object.entries(headers).flatMap(([header, value]) =>
      header.startsWith(EXTRA_PREFIX) ? [[unescaped(header.slice(EXTRA_PREFIX.length)), listOf(value)]] : [],
    ),
  );
  const isWanted = name !== '' || uid !== '' || groups.length > 0 || Object.keys(extra).length > 0;
  return isWanted ? { name, uid, groups, extra } : undefined;
}

/** A key that is not escaped as it should be is taken as it was sent. */
function unescaped(key: string): string {
  if (!key.includes('%') || /%(?![0-9a-f]{2})/i.test(key)) return key;
  const bytes = key.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** A comma is part of a value: groups have names such as `cn=a,ou=b`. */
const listOf = (header = ''): readonly string[] => valuesOf(header).filter((value) => value !== '');

function* permissionsFor(wanted: Wanted, path: string): Iterable<ResourceRequest> {
  const permission = (over: Partial<ResourceRequest>): ResourceRequest => ({
    kind: 'resource',
    verb: 'impersonate',
    path,
    group: '',
    version: 'v1',
    resource: '',
    namespace: '',
    name: '',
    subresource: '',
    rest: '',
    ...over,
  });
  const [, namespace, account] = SERVICE_ACCOUNT.exec(wanted.name) ?? [];
  if (namespace !== undefined && account !== undefined) {
    yield permission({ resource: 'serviceaccounts', namespace, name: account });
  } else yield permission({ resource: 'users', name: wanted.name });
  for (const group of wanted.groups) yield permission({ resource: 'groups', name: group });
  const authentication = { group: 'authentication.k8s.io' };
  for (const [key, values] of Object.entries(wanted.extra)) {
    for (const name of values) yield permission({ ...authentication, resource: 'userextras', subresource: key, name });
  }
  if (wanted.uid !== '') yield permission({ ...authentication, resource: 'uids', name: wanted.uid });
}

function asUser({ name, uid, groups, extra }: Wanted): User {
  const [, namespace] = SERVICE_ACCOUNT.exec(name) ?? [];
  const own = namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const all = groups.length > 0 ? groups : own;
  return {
    name,
    groups: withCommonGroup(name, all),
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Every user belongs to one of both groups; a user in the unauthenticated group is not authenticated. */
function withCommonGroup(name: string, groups: readonly string[]): readonly string[] {
  const [unauthenticated = ''] = ANONYMOUS.groups;
  if (groups.includes(unauthenticated)) return groups;
  if (name === ANONYMOUS.name) return [...groups, unauthenticated];
  return groups.includes(AUTHENTICATED_GROUP) ? groups : [...groups, AUTHENTICATED_GROUP];
}
