import type { ObjectMeta } from '../../generated/types.ts';

/** What v1 has no field for travels in annotations, so that nothing is lost on the way there and back. */
export const METRICS = 'autoscaling.alpha.kubernetes.io/metrics';
export const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior';
export const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';
export const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics';

/** A scaler of v2 has the fields themselves: what a client wrote there by hand would contradict them. */
export function dropRoundTripAnnotations(metadata: ObjectMeta): void {
  const { annotations } = metadata;
  if (annotations === undefined) return;
  for (const key of [METRICS, BEHAVIOR, CONDITIONS, CURRENT_METRICS]) delete annotations[key];
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
}
