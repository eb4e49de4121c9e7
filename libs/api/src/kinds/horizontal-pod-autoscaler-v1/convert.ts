import { copyJson, DecodeError, decodeWithSchema, type Json } from '@holdfast/machinery';
import type {
  MetricSpec,
  AutoscalingV1HorizontalPodAutoscaler as V1,
  HorizontalPodAutoscaler as V2,
} from '../../generated/types.ts';
import { schemaFor } from '../../schema-table.ts';
import { setHpaDefaults } from '../horizontal-pod-autoscaler/defaults.ts';

/** What v1 has no field for travels in annotations, so that nothing is lost on the way there and back. */
const METRICS = 'autoscaling.alpha.kubernetes.io/metrics';
const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior';
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics';
const KEYS = [METRICS, BEHAVIOR, CONDITIONS, CURRENT_METRICS];

export function toV2(scaler: Readonly<V1>): V2 {
  const { metadata, spec, status } = copyJson(scaler);
  const annotations = metadata.annotations ?? {};
  const cpu = spec.targetCPUUtilizationPercentage;
  const added = readSpec('metrics', annotations[METRICS])?.metrics ?? [];
  const metrics = [...(cpu === undefined ? [] : [cpuMetric(cpu)]), ...added];
  const behavior = readSpec('behavior', annotations[BEHAVIOR])?.behavior;
  const conditions = readStatus('conditions', annotations[CONDITIONS])?.conditions;
  const currentMetrics = readStatus('currentMetrics', annotations[CURRENT_METRICS])?.currentMetrics;
  for (const key of KEYS) delete annotations[key];
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
  const { currentCPUUtilizationPercentage: _current, ...sameStatus } = status;
  const converted: V2 = {
    apiVersion: 'autoscaling/v2',
    kind: scaler.kind,
    metadata,
    spec: {
      scaleTargetRef: spec.scaleTargetRef,
      maxReplicas: spec.maxReplicas,
      ...(spec.minReplicas === undefined ? {} : { minReplicas: spec.minReplicas }),
      ...(metrics.length === 0 ? {} : { metrics }),
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: {
      ...sameStatus,
      ...(conditions === undefined ? {} : { conditions }),
      ...(currentMetrics === undefined ? {} : { currentMetrics }),
    },
  };
  setHpaDefaults(converted);
  return converted;
}

const cpuMetric = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

const readSpec = (key: keyof V2['spec'], text: string | undefined): Partial<V2['spec']> | undefined =>
  readField('spec', key, text)?.spec;
const readStatus = (key: keyof V2['status'], text: string | undefined): Partial<V2['status']> | undefined =>
  readField('status', key, text)?.status;

/** What a client wrote there by hand and nobody can read is as good as nothing. */
function readField(part: 'spec' | 'status', key: string, text: string | undefined): Partial<V2> | undefined {
  const schema = schemaFor('autoscaling', 'v2', 'HorizontalPodAutoscaler');
  if (text === undefined || schema === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return decodeWithSchema({ [part]: { [key]: value } }, schema).value as Partial<V2>;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DecodeError) return undefined;
    throw error;
  }
}

export function fromV2(scaler: Readonly<V2>): V1 {
  const { metadata, spec, status } = copyJson(scaler);
  const metrics = spec.metrics ?? [];
  const i = metrics.findIndex(
    ({ resource }) => resource?.name === 'cpu' && resource.target.averageUtilization !== undefined,
  );
  const cpu = metrics[i]?.resource?.target.averageUtilization;
  const others = metrics.filter((_, at) => at !== i);
  const current = (status.currentMetrics ?? []).find(({ resource }) => resource?.name === 'cpu')?.resource?.current;
  const extra: Readonly<Record<string, unknown>> = {
    [METRICS]: others.length === 0 ? undefined : others,
    [BEHAVIOR]: spec.behavior,
    [CONDITIONS]: status.conditions,
    [CURRENT_METRICS]: status.currentMetrics ?? undefined,
  };
  for (const [key, value] of Object.entries(extra)) {
    if (value !== undefined) (metadata.annotations ??= {})[key] = JSON.stringify(value);
  }
  const { conditions: _conditions, currentMetrics: _metrics, ...sameStatus } = status;
  return {
    apiVersion: 'autoscaling/v1',
    kind: scaler.kind,
    metadata,
    spec: {
      scaleTargetRef: spec.scaleTargetRef,
      maxReplicas: spec.maxReplicas,
      ...(spec.minReplicas === undefined ? {} : { minReplicas: spec.minReplicas }),
      ...(cpu === undefined ? {} : { targetCPUUtilizationPercentage: cpu }),
    },
    status: {
      ...sameStatus,
      currentReplicas: status.currentReplicas ?? 0,
      ...(current?.averageUtilization === undefined
        ? {}
        : { currentCPUUtilizationPercentage: current.averageUtilization }),
    },
  };
}
