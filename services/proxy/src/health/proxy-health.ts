import { hasTaint, isTerminating, type Node } from '@holdfast/api';
import { type Clock, formatTime } from '@holdfast/platform';
import { HEALTH_TIMEOUT_MS } from '../limits.ts';
import { type HttpAnswer, JSON_TYPE } from './http-port.ts';

export interface ProxyProgress {
  /** Wall clock. Absent: the rules were never written. */
  readonly lastUpdatedMs: number | undefined;
  /** Monotonic clock: the oldest change that is not written yet. */
  readonly queuedSinceMs: number | undefined;
}

/** A change that waits for too long means that the proxy does not follow. Before the first change it is healthy. */
export const isFollowing = ({ queuedSinceMs }: ProxyProgress, nowMs: number): boolean =>
  queuedSinceMs === undefined || nowMs - queuedSinceMs < HEALTH_TIMEOUT_MS;

/** Set by cluster autoscalers on a node that they are about to remove. */
const ENDING_TAINT = 'ToBeDeletedByClusterAutoscaler';

/** Load balancers send no new traffic to a node that ends. A node that was not read yet does not end. */
export const isEligible = (node: Node | undefined): boolean =>
  node === undefined || (!isTerminating(node) && !hasTaint(node, ENDING_TAINT));

export interface HealthView {
  readonly progress: ProxyProgress;
  readonly isNodeEligible: boolean;
}

/** `/healthz` is for load balancers, which leave nodes that end; `/livez` is about this process alone. */
export function healthAnswer(path: string, { progress, isNodeEligible }: HealthView, clock: Clock): HttpAnswer {
  const isHealthy = isFollowing(progress, clock.monotonic());
  const currentTime = formatTime(clock.now());
  // A healthy proxy that had nothing to write is up to date now.
  const lastUpdated = isHealthy ? currentTime : formatTime(progress.lastUpdatedMs ?? 0);
  const say = (isOk: boolean, body: object): HttpAnswer => ({
    status: isOk ? 200 : 503,
    headers: JSON_TYPE,
    body: JSON.stringify({ lastUpdated, currentTime, ...body }),
  });
  if (path === '/livez') return say(isHealthy, {});
  if (path === '/healthz') return say(isHealthy && isNodeEligible, { nodeEligible: isNodeEligible });
  return {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: 'there are /healthz and /livez\n',
  };
}
