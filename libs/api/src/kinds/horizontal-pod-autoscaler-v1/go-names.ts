import { isJsonArray, isJsonObject, type Json, type JsonObject } from '@holdfast/machinery';
import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '../../generated/types.ts';

/**
 * Kubernetes serializes the behavior of an autoscaler with its internal struct: Go field names, and null for absent
 * fields.
 */
export const behaviorText = ({ scaleUp, scaleDown }: Readonly<HorizontalPodAutoscalerBehavior>): string =>
  JSON.stringify({ ScaleUp: goRules(scaleUp), ScaleDown: goRules(scaleDown) });

function goRules(rules: Readonly<HPAScalingRules> | undefined): JsonObject | null {
  if (rules === undefined) return null;
  return {
    StabilizationWindowSeconds: rules.stabilizationWindowSeconds ?? null,
    SelectPolicy: rules.selectPolicy ?? null,
    Policies:
      rules.policies?.map(({ type, value, periodSeconds }) => ({
        Type: type ?? '',
        Value: value ?? 0,
        PeriodSeconds: periodSeconds ?? 0,
      })) ?? null,
  };
}

/** `ScaleUp` -> `scaleUp` at all levels: Go's decoder ignores case. */
export function withSmallInitials(value: Json): Json {
  if (isJsonArray(value)) return value.map(withSmallInitials);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key.slice(0, 1).toLowerCase() + key.slice(1),
      withSmallInitials(child),
    ]),
  );
}
