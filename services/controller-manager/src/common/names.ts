import { safeSuffix } from './hash.ts';

/**
 * The next `count` free pod names under a prefix. A name follows from a seed (the owner's uid) and a slot number, and the
 * lowest free slots are taken: whoever creates the same missing pod (a stale cache, a second manager, a restart after an
 * unknown outcome) asks for the same name, and create-if-absent lets exactly one of them through.
 */
export function freePodNames(
  { prefix, seed }: { readonly prefix: string; readonly seed: string },
  taken: ReadonlySet<string>,
  count: number,
): string[] {
  const names = new Set<string>();
  for (let slot = 0; names.size < count; slot++) {
    const name = `${prefix}${safeSuffix(`${seed}/${slot}`)}`;
    if (!taken.has(name)) names.add(name);
  }
  return [...names];
}
