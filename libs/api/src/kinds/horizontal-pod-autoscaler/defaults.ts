import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import type { HorizontalPodAutoscaler, HPAScalingPolicy, HPAScalingRules, MetricSpec } from '../../generated/types.ts';

/** Percent of the pods' requests. */
const CPU_UTILIZATION = 80;
const POLICY_SECONDS = 15;

const cpuMetric = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

export function noHpaStatus(): HorizontalPodAutoscaler['status'] {
  return { desiredReplicas: 0, currentMetrics: null };
}

export function setHpaDefaults(scaler: HorizontalPodAutoscaler): void {
  setDefault(scaler, 'spec', { maxReplicas: 0, scaleTargetRef: { kind: '', name: '' } });
  setDefault(scaler, 'status', noHpaStatus());
  setDefault(scaler.status, 'desiredReplicas', 0);
  scaler.status.currentMetrics ??= null;
  setConditionTimes(scaler.status.conditions, 'lastTransitionTime');
  const { spec } = scaler;
  setDefault(spec, 'scaleTargetRef', { kind: '', name: '' });
  setDefault(spec, 'minReplicas', 1);
  if ((spec.metrics ?? []).length === 0) spec.metrics = [cpuMetric(CPU_UTILIZATION)];
  if (spec.behavior === undefined) return;
  const { scaleUp, scaleDown } = spec.behavior;
  spec.behavior.scaleUp = withDefaults(scaleUp, 0, [policy('Pods', 4), policy('Percent', 100)]);
  spec.behavior.scaleDown = withDefaults(scaleDown, undefined, [policy('Percent', 100)]);
}

const policy = (type: string, value: number): HPAScalingPolicy => ({ type, value, periodSeconds: POLICY_SECONDS });

function withDefaults(
  rules: HPAScalingRules = {},
  windowSeconds: number | undefined,
  policies: HPAScalingPolicy[],
): HPAScalingRules {
  if (windowSeconds !== undefined) setDefault(rules, 'stabilizationWindowSeconds', windowSeconds);
  setDefault(rules, 'selectPolicy', 'Max');
  setDefault(rules, 'policies', policies);
  return rules;
}
