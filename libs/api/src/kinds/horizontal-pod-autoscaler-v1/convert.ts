import { copyJson, DecodeError, decodeWithSchema, isJsonObject, type Json } from '@holdfast/machinery';
import type {
  HorizontalPodAutoscalerCondition,
  MetricSpec,
  AutoscalingV1HorizontalPodAutoscaler as V1,
  HorizontalPodAutoscaler as V2,
} from '../../generated/types.ts';
import { schemaFor } from '../../schema-table.ts';
import { setHpaDefaults } from '../horizontal-pod-autoscaler/defaults.ts';
import {
  BEHAVIOR,
  CONDITIONS,
  CURRENT_METRICS,
  dropRoundTripAnnotations,
  METRICS,
} from '../horizontal-pod-autoscaler/round-trip.ts';
import { flatMetric, nestedMetrics, PRESENT, type Sources, WANTED } from './flat.ts';
import { behaviorText, withSmallInitials } from './go-names.ts';

export function toV2(scaler: Readonly<V1>): V2 {
  const { metadata, spec, status } = copyJson(scaler);
  const annotations = metadata.annotations ?? {};
  const cpu = spec.targetCPUUtilizationPercentage;
  const added =
    read('spec', 'metrics', annotations[METRICS], (json) => nestedMetrics(json, WANTED))?.spec.metrics ?? [];
  const metrics = [...added, ...(cpu === undefined ? [] : [cpuMetric(cpu)])];
  const behavior = read('spec', 'behavior', annotations[BEHAVIOR], withSmallInitials)?.spec.behavior;
  const conditions = read('status', 'conditions', annotations[CONDITIONS])?.status.conditions;
  const currentMetrics = read('status', 'currentMetrics', annotations[CURRENT_METRICS], (json) =>
    nestedMetrics(json, PRESENT),
  )?.status.currentMetrics;
  dropRoundTripAnnotations(metadata);
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

/** An unreadable annotation counts as absent: a client wrote it by hand. */
function read(
  part: 'spec' | 'status',
  key: string,
  text: string | undefined,
  asV2: (json: Json) => Json = (json) => json,
): V2 | undefined {
  const schema = schemaFor('autoscaling', 'v2', 'HorizontalPodAutoscaler');
  if (text === undefined || schema === undefined) return undefined;
  try {
    const value = asV2(JSON.parse(text) as Json);
    return decodeWithSchema({ spec: {}, status: {}, [part]: { [key]: value } }, schema).value as unknown as V2;
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
  const currentMetrics = status.currentMetrics ?? [];
  const current = currentMetrics.find(({ resource }) => resource?.name === 'cpu')?.resource?.current;
  dropRoundTripAnnotations(metadata);
  const annotate = (key: string, text: string): void => {
    (metadata.annotations ??= {})[key] = text;
  };
  if (others.length > 0) annotate(METRICS, flatText(others, WANTED));
  if (spec.behavior !== undefined) annotate(BEHAVIOR, behaviorText(spec.behavior));
  if (currentMetrics.length > 0) annotate(CURRENT_METRICS, flatText(currentMetrics, PRESENT));
  if ((status.conditions ?? []).length > 0) annotate(CONDITIONS, conditionsText(status.conditions ?? []));
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

const flatText = (metrics: readonly object[], sources: Sources): string =>
  JSON.stringify(metrics.map((metric) => flatMetric(isJsonObject(metric) ? metric : {}, sources)));

/** In Go's field order. */
const conditionsText = (conditions: readonly HorizontalPodAutoscalerCondition[]): string =>
  JSON.stringify(
    conditions.map(({ type, status, lastTransitionTime, reason, message }) => ({
      type,
      status,
      lastTransitionTime: lastTransitionTime ?? null,
      ...(reason ? { reason } : {}),
      ...(message ? { message } : {}),
    })),
  );
