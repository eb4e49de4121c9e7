import type { Pod, PodStatus } from '@holdfast/api';
import { ownValue, semanticEqual } from '@holdfast/machinery';

/** A merge patch of the fields that differ, refused by the server when the stored object is another one than `pod`. */
export function statusPatch(pod: Pod, status: PodStatus): Readonly<Record<string, unknown>> {
  const before: Readonly<Record<string, unknown>> = { ...pod.status };
  const after: Readonly<Record<string, unknown>> = { ...status };
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = Object.fromEntries(
    [...fields]
      .filter((field) => !semanticEqual(ownValue(before, field), ownValue(after, field)))
      .map((field) => [field, ownValue(after, field) ?? null]),
  );
  const { uid, resourceVersion } = pod.metadata;
  return { metadata: { uid, resourceVersion }, status: changed };
}
