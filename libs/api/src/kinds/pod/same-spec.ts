import { isJsonArray, isJsonObject } from '@holdfast/machinery';
import type { Pod, PodSpec } from '../../generated/types.ts';

/** Prefix of the volume that admission adds to every pod with a random name. */
const TOKEN_VOLUME_PREFIX = 'kube-api-access-';

/**
 * True when a spec equals one that has passed all checks; then it passes them, too. The names of the token volumes may
 * differ: the checks treat all such names alike as long as they occur in the same positions.
 */
export function saysTheSame({ spec }: Readonly<Pick<Pod, 'spec'>>, valid: unknown): boolean {
  if (!isJsonObject(valid)) return false;
  // The pod's name determines the claims of its ephemeral volumes.
  if ((spec.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined)) return false;
  const names = { own: tokenVolume(spec), other: tokenVolume(valid as Readonly<Partial<PodSpec>>) };
  return isSame(spec, valid, names);
}

/** Admission adds it after all others. */
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

/** True when each name occurs exactly where the other one does. */
function isSameText(a: string, b: unknown, { own, other }: Names): boolean {
  if (a === own || b === other) return a === own && b === other;
  return a === b;
}
