import { createHash, timingSafeEqual } from 'node:crypto';
import {
  ACCOUNT_TOKEN_SECRET,
  NODES,
  PODS,
  type ResourceRef,
  SECRETS,
  SERVICE_ACCOUNTS,
  type Secret,
} from '@holdfast/api';
import { type Clock, type Ids, parseTime } from '@holdfast/platform';
import { AUTHENTICATED_GROUP, CREDENTIAL_ID, type User } from '../authentication/identity.ts';
import type { ObjectReader } from '../cache/reader.ts';
import type { Claims, TokenSigner } from './jwt.ts';

/** Life of a token that is kept in a Secret: it ends with the Secret, with its place there, or with the account. */
export const LONG_LIVED_SECONDS = 2 ** 32;

export const DEFAULT_ISSUER = 'https://kubernetes.default.svc';

/** A deleted object's tokens die with it; a pod that is ending may still need its token for this long. */
const LEEWAY_AFTER_DELETION_MS = 60_000;

/** The clocks of two API servers may differ by this: what Kubernetes allows. */
const CLOCK_SKEW_SECONDS = 60;

export interface ServiceAccountTokens {
  readonly issuer: string;
  /** Tokens for one of these are for this API. */
  readonly audiences: readonly string[];
  /** Public keys that verify tokens. */
  readonly jwks: TokenSigner['jwks'];
  issue(request: TokenOrder): string;
  /** Returns the user of a token for one of `audiences`; `undefined` when it is foreign or invalid. */
  authenticate(token: string, audiences: readonly string[]): Promise<AuthenticatedToken | undefined>;
}

export interface AuthenticatedToken {
  readonly user: User;
  readonly audiences: readonly string[];
}

export interface TokenOrder {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  readonly audiences: readonly string[];
  readonly seconds: number;
  /** The time after which users of the token should have a newer one. */
  readonly warnAfterSeconds?: number;
  readonly boundTo?: BoundObject;
  readonly node?: { readonly name: string; readonly uid: string };
}

export interface BoundObject {
  readonly kind: 'pod' | 'secret' | 'node';
  readonly name: string;
  readonly uid: string;
}

export interface TokenDeps {
  readonly signer: TokenSigner;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createServiceAccountTokens(deps: TokenDeps): ServiceAccountTokens {
  return {
    issuer: deps.issuer,
    audiences: deps.audiences,
    jwks: deps.signer.jwks,
    issue: (order) => deps.signer.sign(claimsOf(deps, order)),
    authenticate: async (token, audiences) => {
      const claims = deps.signer.verify(token);
      const content = claims === undefined ? undefined : readClaims(claims);
      if (content === undefined || !isCurrent(deps, content)) return undefined;
      const common = content.audiences.filter((audience) => audiences.includes(audience));
      if (common.length === 0 || !(await stillStands(deps, content, token))) return undefined;
      return { user: userOf(content), audiences: common };
    },
  };
}

function claimsOf({ issuer, clock, ids }: TokenDeps, order: TokenOrder): Claims {
  const now = Math.floor(clock.now() / 1000);
  const { namespace, account, boundTo, node, warnAfterSeconds } = order;
  return {
    aud: order.audiences,
    exp: now + order.seconds,
    iat: now,
    iss: issuer,
    jti: ids.uuid(),
    'kubernetes.io': {
      namespace,
      ...(node === undefined ? {} : { node }),
      ...(boundTo === undefined ? {} : { [boundTo.kind]: { name: boundTo.name, uid: boundTo.uid } }),
      serviceaccount: account,
      ...(warnAfterSeconds === undefined ? {} : { warnafter: now + warnAfterSeconds }),
    },
    nbf: now,
    sub: `system:serviceaccount:${namespace}:${account.name}`,
  };
}

interface Content {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly notBefore: number;
  readonly expires: number;
  readonly issued: number;
  readonly id: string;
  readonly namespace: string;
  readonly account: Named;
  readonly pod: Named | undefined;
  readonly secret: Named | undefined;
  readonly node: Named | undefined;
}

interface Named {
  readonly name: string;
  readonly uid: string;
}

function readClaims(claims: Claims): Content | undefined {
  const { iss, aud, exp, iat, nbf, jti } = claims;
  const own = claims['kubernetes.io'];
  if (typeof own !== 'object' || own === null || typeof exp !== 'number') return undefined;
  const account = readNamed(own, 'serviceaccount');
  const namespace = 'namespace' in own ? own.namespace : undefined;
  if (account === undefined || typeof namespace !== 'string' || typeof iss !== 'string') return undefined;
  return {
    issuer: iss,
    audiences: Array.isArray(aud) ? aud.filter((each): each is string => typeof each === 'string') : [],
    notBefore: typeof nbf === 'number' ? nbf : 0,
    expires: exp,
    issued: typeof iat === 'number' ? iat : 0,
    id: typeof jti === 'string' ? jti : '',
    namespace,
    account,
    pod: readNamed(own, 'pod'),
    secret: readNamed(own, 'secret'),
    node: readNamed(own, 'node'),
  };
}

function readNamed(value: object, key: string): Named | undefined {
  const named: unknown = Reflect.get(value, key);
  if (typeof named !== 'object' || named === null || !('name' in named) || !('uid' in named)) return undefined;
  return typeof named.name === 'string' && typeof named.uid === 'string'
    ? { name: named.name, uid: named.uid }
    : undefined;
}

function isCurrent({ issuer, clock }: TokenDeps, content: Content): boolean {
  const now = clock.now() / 1000;
  const { expires, notBefore } = content;
  return content.issuer === issuer && expires >= now - CLOCK_SKEW_SECONDS && notBefore <= now + CLOCK_SKEW_SECONDS;
}

/** The account, and what the token was bound to, still exist and are the same objects. */
async function stillStands({ reader, clock }: TokenDeps, content: Content, token: string): Promise<boolean> {
  const now = clock.now();
  const { namespace, account, pod, secret, node } = content;
  const found: readonly (readonly [ResourceRef, Named])[] = [
    [SERVICE_ACCOUNTS, account],
    ...(pod === undefined ? [] : [[PODS, pod] as const]),
    ...(secret === undefined ? [] : [[SECRETS, secret] as const]),
    ...(node === undefined || pod !== undefined ? [] : [[NODES, node] as const]),
  ];
  for (const [resource, wanted] of found) {
    const target = { namespace, name: wanted.name };
    const object = reader.cached(resource, target) ?? (await reader.fresh(resource, target));
    if (object === undefined || object.metadata.uid !== wanted.uid) return false;
    const deleted = object.metadata.deletionTimestamp;
    if (deleted !== undefined && (parseTime(deleted) ?? 0) + LEEWAY_AFTER_DELETION_MS < now) return false;
    if (resource === SECRETS && isLongLived(content) && !isTokenOf(object as Secret, token)) return false;
  }
  return true;
}

/** Created for a Secret and stored there, without a TokenRequest: it is valid as long as it is there. */
const isLongLived = ({ secret, expires, issued }: Content): boolean =>
  secret !== undefined && expires - issued === LONG_LIVED_SECONDS;

function isTokenOf({ data, type, metadata }: Secret, token: string): boolean {
  if (type !== ACCOUNT_TOKEN_SECRET || Object.hasOwn(metadata.labels ?? {}, INVALID_SINCE)) return false;
  const kept = createHash('sha256')
    .update(Buffer.from(data?.['token'] ?? '', 'base64'))
    .digest();
  return timingSafeEqual(kept, createHash('sha256').update(token).digest());
}

/** Set when the token has become unused. */
const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since';

function userOf({ namespace, account, pod, node, id }: Content): User {
  const extra: Record<string, readonly string[]> = {};
  if (id !== '') extra[CREDENTIAL_ID] = [`JTI=${id}`];
  if (pod !== undefined) {
    extra['authentication.kubernetes.io/pod-name'] = [pod.name];
    extra['authentication.kubernetes.io/pod-uid'] = [pod.uid];
  }
  if (node !== undefined) {
    extra['authentication.kubernetes.io/node-name'] = [node.name];
    extra['authentication.kubernetes.io/node-uid'] = [node.uid];
  }
  return {
    name: `system:serviceaccount:${namespace}:${account.name}`,
    uid: account.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED_GROUP],
    extra,
  };
}
