import type { Pod } from '@holdfast/api';
import { CREATE_IN_FLIGHT_MAX_MS, NAMES_LOOKED_BACK } from '../limits.ts';
import { safeSuffix } from './hash.ts';
import { createdAt, nameOf } from './meta.ts';

/** The pods that may hold a name: when each of them was created. */
export type HeldNames = ReadonlyMap<string, number>;

export const heldNames = (pods: readonly Pod[]): HeldNames => new Map(pods.map((pod) => [nameOf(pod), createdAt(pod)]));

export interface NameSearch {
  readonly prefix: string;
  /** The owner's uid and what distinguishes its name sequences. */
  readonly seed: string;
  readonly held: HeldNames;
  /** Names of pods that are gone, and names that belong to others. */
  readonly avoided: ReadonlySet<string>;
  readonly now: number;
  /** Pods that this row of names has about. */
  readonly expected: number;
}

/**
 * The next `count` names of a row: name k follows from the seed and k. Everybody who fills the same gap (a stale cache, a second
 * manager, a restart after an unknown outcome) asks for the same names, and create-if-absent lets exactly one of them through.
 *
 * A replacement gets a name that no pod had lately: names of pods that this process has seen going are avoided, and so is every name
 * before that of a pod that is not young any more. A name before that of a *young* pod may still be on its way to the API, so it is
 * asked for.
 */
export function freePodNames(search: NameSearch, count: number): string[] {
  const { held, avoided } = search;
  const nameAt = (index: number): string => `${search.prefix}${safeSuffix(`${search.seed}/${index}`)}`;
  const names = new Set<string>();
  for (let index = firstOpen(search, nameAt); names.size < count; index++) {
    const name = nameAt(index);
    if (!held.has(name) && !avoided.has(name)) names.add(name);
  }
  return [...names];
}

/** Behind the last pod whose creation is so long ago that all creates before it have been answered. */
function firstOpen({ held, now, expected }: NameSearch, nameAt: (index: number) => string): number {
  let first = 0;
  if (held.size === 0) return first;
  for (let index = 0; index < NAMES_LOOKED_BACK + 2 * expected; index++) {
    const since = held.get(nameAt(index));
    if (since !== undefined && now - since > CREATE_IN_FLIGHT_MAX_MS) first = index + 1;
  }
  return first;
}
