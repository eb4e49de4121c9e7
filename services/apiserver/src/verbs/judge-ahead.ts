import type { Steps } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import type { ListQuery, ResourceCache } from '../cache/resource-cache.ts';
import { type Selection, selects } from '../cache/selection.ts';
import type { Core } from '../core.ts';
import { stepsInTurns } from '../turns/steps-in-turns.ts';

/** Objects that are filtered between two checks of the turn, and the maximum of their text: each may need parsing. */
export const JUDGED_AT_ONCE = 64;
export const JUDGED_BYTES_AT_ONCE = 256 * 1024;

/**
 * Judges the candidates of a list in turns with other requests. The cache lists in one synchronous step; with this selection the step
 * judges only objects that changed in the meantime.
 */
export function judgeAhead(
  { turns }: Pick<Core, 'turns'>,
  user: User,
  cache: ResourceCache,
  query: ListQuery,
): Selection | Promise<Selection> {
  const { selection, limit = Number.POSITIVE_INFINITY } = query;
  // A name selects one object in each namespace: the others are refused unread.
  if (selection.matches === undefined || selection.exactName !== undefined) return selection;
  const candidates = cache.candidates(query);
  return isShort(candidates) ? selection : stepsInTurns(turns, user, judged(selection, candidates, limit));
}

function isShort(candidates: readonly CachedObject[]): boolean {
  if (candidates.length > JUDGED_AT_ONCE) return false;
  let bytes = 0;
  for (const { size } of candidates) bytes += size;
  return bytes <= JUDGED_BYTES_AT_ONCE;
}

/** A page needs no more than one object beyond its limit. */
function* judged(selection: Selection, candidates: readonly CachedObject[], limit: number): Steps<Selection> {
  const verdicts = new Map<CachedObject, boolean>();
  let selected = 0;
  let bytes = 0;
  for (const object of candidates) {
    const isSelected = selects(selection, object);
    verdicts.set(object, isSelected);
    if (isSelected) selected += 1;
    if (selected > limit) break;
    bytes += object.size;
    if (verdicts.size % JUDGED_AT_ONCE !== 0 && bytes < JUDGED_BYTES_AT_ONCE) continue;
    bytes = 0;
    yield;
  }
  return { ...selection, verdicts };
}
