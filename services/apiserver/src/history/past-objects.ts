import type { Revision, StoreKey } from '@holdfast/store';
import { CachedObject } from '../cache/cached-object.ts';
import type { History, Sight } from './history.ts';
import type { HistoryRecord } from './record.ts';

/** The state of an object before the first later change; `undefined` = it did not exist. */
type Undone = Map<StoreKey, CachedObject | undefined>;

export interface PastQuery {
  /** Of one turn with the sight. */
  readonly present: readonly CachedObject[];
  /** The prefix of the resource. */
  readonly prefix: string;
  /** Only keys with this beginning. */
  readonly within: string;
  readonly revision: Revision;
  /** Lets other requests work. */
  readonly pause: () => Promise<void> | undefined;
}

/** The objects of a resource at a revision, in the order of their keys: the present, with later changes undone. */
export async function pastObjects(history: History, sight: Sight, query: PastQuery): Promise<readonly CachedObject[]> {
  const { present, prefix, within, revision } = query;
  const undone: Undone = new Map();
  for (const segment of sight.segments) {
    if (segment.head.last <= revision || !segment.head.blocks.has(prefix)) continue;
    undo(undone, await history.recordsOf(segment, prefix), query);
    const pausing = query.pause();
    if (pausing !== undefined) await pausing;
  }
  const recent = sight.records.filter(({ key }) => key.startsWith(within));
  undo(undone, recent, query);
  const unchanged = present.filter(({ key }) => key.startsWith(within) && !undone.has(key));
  const restored = [...undone.values()].filter((each) => each !== undefined);
  return [...unchanged, ...restored].sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** Records of one segment, or of all batches: each of them has the state before its first change of an object. */
function undo(undone: Undone, records: readonly HistoryRecord[], { within, revision }: PastQuery): void {
  const newest = new Map<StoreKey, HistoryRecord>();
  for (const record of records) {
    const { key, kind, previousRevision } = record;
    if (kind === 'refused' || !key.startsWith(within)) continue;
    if (record.revision > revision && !undone.has(key)) {
      const text = newest.get(key)?.value ?? record.before;
      undone.set(key, previousRevision === 0 ? undefined : new CachedObject(key, text, previousRevision));
    }
    newest.set(key, record);
  }
}
