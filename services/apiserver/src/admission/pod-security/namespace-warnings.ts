import type { Pod } from '@holdfast/api';
import { reasonsText, violations } from './evaluate.ts';
import { type LeveledVersion, printLevel } from './levels.ts';

/** Pods that are checked when a namespace becomes stricter; the rest is not checked. */
const CHECKED_PODS_MAX = 3_000;

/** Returns warnings about running pods that violate the level. */
export function existingPodWarnings(
  namespace: string,
  pods: readonly Readonly<Pod>[],
  enforce: LeveledVersion,
): readonly string[] {
  const checked = onePerOwnerFirst(pods).slice(0, CHECKED_PODS_MAX);
  const offenders = new Map<string, string[]>();
  for (const { metadata, spec } of checked) {
    const found = violations({ metadata, spec }, enforce);
    if (found.length === 0) continue;
    const reasons = reasonsText(found);
    offenders.set(reasons, [...(offenders.get(reasons) ?? []), metadata.name ?? '']);
  }
  const level = printLevel(enforce);
  const partly =
    checked.length < pods.length
      ? [
          `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
        ]
      : [];
  if (offenders.size === 0) return partly;
  const head = `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${level}"`;
  return [...partly, head, ...[...offenders].map(([reasons, names]) => `${subject(names)}: ${reasons}`).sort()];
}

function subject(names: readonly string[]): string {
  const [first = ''] = names.toSorted();
  const others = names.length - 1;
  return others === 0 ? first : `${first} (and ${others} other ${others === 1 ? 'pod' : 'pods'})`;
}

/** Pods of one owner are alike: one of each comes before the second of any. */
function onePerOwnerFirst(pods: readonly Readonly<Pod>[]): readonly Readonly<Pod>[] {
  const seen = new Set<string>();
  const first: Readonly<Pod>[] = [];
  const rest: Readonly<Pod>[] = [];
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    if (owner !== undefined && seen.has(owner)) rest.push(pod);
    else first.push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...rest];
}
