import { isJsonArray, isJsonObject } from '@holdfast/machinery';
import type { Pod, PodSpec } from '../../generated/types.ts';

/** The volume that admission adds to every pod has a name of its own in each. */
const TOKEN_VOLUME_PREFIX = 'kube-api-access-';

/**
 * Whether a spec says the same as one that has passed every check: then it passes them too. The names of the volumes with the token may
 * differ: to the checks such a name is like any other of its kind, as long as it stands in the same places.
 */
export function saysTheSame({ spec }: Readonly<Pick<Pod, 'spec'>>, valid: unknown): boolean {
  if (!isJsonObject(valid)) return false;
  // Claims of ephemeral volumes are named after the pod.
  if ((spec.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined)) return false;
  const names = { own: tokenVolume(spec), other: tokenVolume(valid as Readonly<Partial<PodSpec>>) };
  return isSame(spec, valid, names);
}

/** It is added after all others. */
function tokenVolume({ volumes }: Readonly<Partial<PodSpec>>): string | undefined {
  const last = volumes?.at(-1);
  return last?.projected !== undefined && last.name.startsWith(TOKEN_VOLUME_PREFIX) ? last.name : undefined;
}

interface Names {
  readonly own: string | undefined;
  readonly other: string | undefined;
}

function isSame(a: unknown, b: unknown, names: Names): boolean {
  if (typeof a === 'string') return isSameText(a, b, names);
  if (isJsonArray(a)) return isJsonArray(b) && a.length === b.length && a.every((each, i) => isSame(each, b[i], names));
  if (!isJsonObject(a)) return a === b;
  if (!isJsonObject(b)) return false;
  let keys = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !isSame(a[key], b[key], names)) return false;
    keys += 1;
  }
  for (const _ in b) keys -= 1;
  return keys === 0;
}

/** One name stands exactly where the other does. */
function isSameText(a: string, b: unknown, { own, other }: Names): boolean {
  if (a === own || b === other) return a === own && b === other;
  return a === b;
}
