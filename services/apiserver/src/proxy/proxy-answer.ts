import { posix } from 'node:path';
import type { ApiResponse, HttpMethod } from '@holdfast/client';
import { isRewritable, withLinks } from './html-links.ts';

/** The path and names under which a target is served. */
export interface Seat {
  /** `/api/v1/namespaces/default/pods/web/proxy` */
  readonly prefix: string;
  /** Its own address, `10.0.0.7:8080`. */
  readonly own: string;
  /** The host of the client's request. */
  readonly asked: string;
}

/** A target behind this server may not set cross-origin permissions for it. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
]);

/** Removes cross-origin permissions. */
export const withoutOpenings = (answer: ApiResponse): ApiResponse => ({
  ...answer,
  headers: Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !LEFT_OUT.has(name))),
});

/** The answer of a program behind this server, as its clients can use it: redirects and links of pages lead to it, not to this server. */
export function behindProxy(answer: ApiResponse, seat: Seat, method: HttpMethod = 'GET'): ApiResponse {
  if (answer.upgrade !== undefined) return answer;
  const shut = withoutOpenings(answer);
  const { headers } = shut;
  const { location } = headers;
  const led = {
    ...shut,
    headers: location === undefined ? headers : { ...headers, location: linkBehind(location, seat) },
  };
  return method === 'HEAD' ? led : withLinksBehind(led, seat);
}

/** Pages of other types, and answers without a body, stay as they are. */
function withLinksBehind(answer: ApiResponse, seat: Seat): ApiResponse {
  const { body, headers } = answer;
  if (body.kind !== 'stream' || BODYLESS.has(answer.status) || !isRewritable(headers)) return answer;
  const { 'content-encoding': _decoded, ...kept } = headers;
  const chunks = withLinks(body.chunks, headers, (link) => linkBehind(link, seat));
  return { ...answer, headers: kept, body: { kind: 'stream', chunks } };
}

const BODYLESS: ReadonlySet<number> = new Set([204, 304]);

/** A target cannot know this server's authorization. So no response may be cached for others, whatever it declares. */
export function asPrivate(answer: ApiResponse): ApiResponse {
  const { 'cache-control': kept } = answer.headers;
  if (kept === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'cache-control': `no-cache, private, ${kept}` } };
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
