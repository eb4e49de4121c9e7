/**
 * Whether a holder of a bounded number of places gets one more: as long as it holds less than what remains free. So one
 * greedy holder gets a half, two get a third each, and there is always a place for a holder that has none. Pure.
 */
export const mayTake = ({ own, all, most }: { readonly own: number; readonly all: number; readonly most: number }) =>
  own < most - all;

/**
 * At most `most` of the items. Those of each holder keep their order, and the holders get one after the other, so one with
 * less than an equal share gets all that it wants. Pure.
 */
export function equalShares<T>(items: readonly T[], most: number, holderOf: (item: T) => string): ReadonlySet<T> {
  if (items.length <= most) return new Set(items);
  const queues = [...Map.groupBy(items, holderOf).values()];
  const chosen = new Set<T>();
  for (let turn = 0; chosen.size < most; turn++)
    for (const queue of queues) {
      const item = queue[turn];
      if (item !== undefined && chosen.size < most) chosen.add(item);
    }
  return chosen;
}
