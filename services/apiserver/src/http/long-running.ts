import type { RequestInfo } from './request-info.ts';

/** Whether the answer lasts as long as somebody wants it: a watch, or a stream from a pod or behind a proxy. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.kind === 'resource' && (info.verb === 'watch' || STREAMS.has(info.subresource));

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);
