import { posix } from 'node:path';
import type { ApiResponse } from '@holdfast/client';

/** Where somebody is served, and by what names. */
export interface Seat {
  /** `/api/v1/namespaces/default/pods/web/proxy` */
  readonly prefix: string;
  /** Its own address, `10.0.0.7:8080`. */
  readonly own: string;
  /** The host that the client asked. */
  readonly asked: string;
}

/** Whom a page of somebody behind this server lets in is not for them to say for this server. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
]);

/** What somebody behind this server answers, as their clients can use it: redirections lead to them, not to this server. */
export function behindProxy(answer: ApiResponse, seat: Seat): ApiResponse {
  if (answer.upgrade !== undefined) return answer;
  const headers = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !LEFT_OUT.has(name)));
  const { location } = headers;
  return {
    ...answer,
    headers: location === undefined ? headers : { ...headers, location: linkBehind(location, seat) },
  };
}

/** A link to their own host that begins with a slash, below the path that they are reached by. Others lead where they led. */
export function linkBehind(link: string, { prefix, own, asked }: Seat): string {
  const [, origin = '', host = '', path = '', rest = ''] = LINK.exec(link) ?? [];
  const isTheirs = (host === '' || host === own || host === asked) && path.startsWith('/');
  if (!isTheirs) return link;
  const kept = host === asked ? origin : '';
  return `${kept}${path.startsWith(prefix) ? path : posix.join(prefix, path)}${rest}`;
}

/** Origin, host, path, and what follows. */
const LINK = /^((?:https?:)?\/\/([^/?#]*))?([^?#]*)(.*)$/is;
