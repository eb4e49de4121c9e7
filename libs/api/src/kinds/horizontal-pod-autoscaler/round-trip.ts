import type { ObjectMeta } from '../../generated/types.ts';

/** Fields without a v1 counterpart travel in annotations, so that a round trip loses nothing. */
export const METRICS = 'autoscaling.alpha.kubernetes.io/metrics';
export const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior';
export const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';
export const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics';

/** A v2 autoscaler has the fields themselves: annotations that a client wrote by hand would contradict them. */
export function dropRoundTripAnnotations(metadata: ObjectMeta): void {
  const { annotations } = metadata;
  if (annotations === undefined) return;
  for (const key of [METRICS, BEHAVIOR, CONDITIONS, CURRENT_METRICS]) delete annotations[key];
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
}
