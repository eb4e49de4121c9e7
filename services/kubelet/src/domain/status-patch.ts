import type { Pod, PodStatus } from '@holdfast/api';
import { semanticEqual } from '@holdfast/machinery';

/** A merge patch of the fields that differ, refused by the server when the stored object is another one than `pod`. */
export function statusPatch(pod: Pod, status: PodStatus): Readonly<Record<string, unknown>> {
  const before: Readonly<Record<string, unknown>> = { ...pod.status };
  const after: Readonly<Record<string, unknown>> = { ...status };
  const changed: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!semanticEqual(before[field], after[field])) changed[field] = after[field] ?? null;
  }
  const { uid, resourceVersion } = pod.metadata;
  return { metadata: { uid, resourceVersion }, status: changed };
}
