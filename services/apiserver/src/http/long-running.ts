import type { RequestInfo } from './request-info.ts';

/** True for responses that last as long as the client wants: a watch, or a stream from a pod or a proxy. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.kind === 'resource' && (info.verb === 'watch' || STREAMS.has(info.subresource));

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);
