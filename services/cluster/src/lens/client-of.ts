import type { ApiRequest } from '@holdfast/client';

/** The client of a lens. At least one is given; both have to fit. */
export interface LensClient {
  /** A user of `cluster.access`, or `system:serviceaccount:<namespace>:<name>`. */
  readonly user?: string;
  /** The beginning of the header `User-Agent`. */
  readonly userAgent?: string;
}

export type UserOfToken = (token: string) => string | undefined;

export function isOf({ user, userAgent }: LensClient, request: ApiRequest, userOf: UserOfToken): boolean {
  const agent = request.headers['user-agent'] ?? '';
  if (userAgent !== undefined && !agent.startsWith(userAgent)) return false;
  return user === undefined || userOfRequest(request, userOf) === user;
}

/** What the request claims; the pipeline checks it afterwards. */
function userOfRequest({ headers, connection }: ApiRequest, userOf: UserOfToken): string | undefined {
  const [, token] = /^Bearer +(\S+)$/i.exec(headers['authorization'] ?? '') ?? [];
  if (token !== undefined) return userOf(token) ?? subjectOf(token);
  return /^CN=(.*)$/m.exec(connection?.clientCertificate ?? '')?.[1];
}

/** The user in a token of a service account. */
function subjectOf(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const subject = typeof claims === 'object' && claims !== null && 'sub' in claims ? claims.sub : undefined;
    return typeof subject === 'string' ? subject : undefined;
  } catch {
    return undefined;
  }
}
