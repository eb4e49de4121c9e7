import type { ReplicaSet } from '@holdfast/api';
import { safeSuffix } from '../../common/hash.ts';
import { nameOf, uidOf } from '../../common/meta.ts';
import { generatedNamePrefix } from '../../common/pods.ts';

/**
 * The next `count` free pod names of a ReplicaSet. A name follows from the set's uid and a slot number, and the lowest free
 * slots are taken: whoever creates the same missing pod (a stale cache, a second manager, a restart after an unknown
 * outcome) asks for the same name, and create-if-absent lets exactly one of them through.
 */
export function freePodNames(replicaSet: ReplicaSet, taken: ReadonlySet<string>, count: number): string[] {
  const prefix = generatedNamePrefix(nameOf(replicaSet));
  const uid = uidOf(replicaSet);
  const names = new Set<string>();
  for (let slot = 0; names.size < count; slot++) {
    const name = `${prefix}${safeSuffix(`${uid}/${slot}`)}`;
    if (!taken.has(name)) names.add(name);
  }
  return [...names];
}
