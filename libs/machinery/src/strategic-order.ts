import { printGo } from './go-types.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from './json.ts';
import { unclassifiedError } from './status.ts';

/** Returns an item's identity in a merge list. Throws StatusError when it has none. */
export function keyOf(item: JsonObject, mergeKey: string): Json {
  const value = ownValue(item, mergeKey);
  if (value === undefined) {
    throw unclassifiedError(`map: ${printGo(item)} does not contain declared merge key: ${mergeKey}`);
  }
  return value;
}

/** Orders the items of the patch as given. Puts items that only the live list has between them, by the live order. */
export function arrange(
  merged: readonly Json[],
  patchOrder: readonly Json[],
  liveOrder: readonly Json[],
  mergeKey: string,
): readonly Json[] {
  const patchRank = ranking(patchOrder, mergeKey);
  const liveRank = ranking(liveOrder, mergeKey);
  const byRank = (rank: Ranking) => (a: Json, b: Json) => rank(a) - rank(b);
  const fromPatch = merged.filter((item) => patchRank(item) >= 0).sort(byRank(patchRank));
  const liveOnly = merged.filter((item) => patchRank(item) < 0).sort(byRank(liveRank));
  return interleave(liveOnly, fromPatch, liveRank);
}

/** Returns the position of an item's identity in a list, or -1. */
type Ranking = (item: Json) => number;

function ranking(order: readonly Json[], mergeKey: string): Ranking {
  const positions = new Map<Json, number>();
  const identity = (item: Json): Json => (mergeKey !== '' && isJsonObject(item) ? keyOf(item, mergeKey) : item);
  order.forEach((item, index) => {
    const id = identity(item);
    if (!positions.has(id)) positions.set(id, index);
  });
  return (item) => positions.get(identity(item)) ?? -1;
}

/** A live-only item precedes a patch item only when the live list contains both (rank at least 0) in that order. */
function interleave(liveOnly: readonly Json[], fromPatch: readonly Json[], liveRank: Ranking): readonly Json[] {
  const result: Json[] = [];
  let next = 0;
  for (const item of fromPatch) {
    const rank = liveRank(item);
    for (let live = liveOnly[next]; live !== undefined && liveRank(live) < rank; live = liveOnly[next]) {
      result.push(live);
      next += 1;
    }
    result.push(item);
  }
  return result.concat(liveOnly.slice(next));
}
