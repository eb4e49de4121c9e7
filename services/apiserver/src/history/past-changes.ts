import type { Revision, StoreKey } from '@holdfast/store';
import type { History, Sight } from './history.ts';
import type { HistoryRecord } from './record.ts';

export interface PastChange {
  readonly record: HistoryRecord;
  /** The text before; '' where there is none, or where contents are left out. */
  readonly before: string;
}

export interface ChangesQuery {
  /** Exclusive. */
  readonly from: Revision;
  /** Inclusive. */
  readonly to: Revision;
  /** Asked once for each resource of a segment. */
  readonly wants: (prefix: string) => boolean | Promise<boolean>;
  readonly pause: () => Promise<void> | undefined;
}

/** The records of the wanted resources in the order in which they happened. */
export async function* pastChanges(
  history: History,
  sight: Sight,
  query: ChangesQuery,
): AsyncGenerator<PastChange, void, undefined> {
  for (const segment of sight.segments) {
    const { from, last, blocks } = segment.head;
    if (last < query.from || from > query.to) continue;
    const records: HistoryRecord[] = [];
    for (const prefix of blocks.keys()) {
      if (!(await query.wants(prefix))) continue;
      records.push(...(await history.recordsOf(segment, prefix)));
      const pausing = query.pause();
      if (pausing !== undefined) await pausing;
    }
    // Stable: refused writes of a moment keep their order.
    yield* withStates(
      records.sort((one, other) => one.revision - other.revision || one.at - other.at),
      query,
    );
  }
  yield* withStates(sight.records, query);
}

function* withStates(records: readonly HistoryRecord[], { from, to }: ChangesQuery): Iterable<PastChange> {
  const newest = new Map<StoreKey, HistoryRecord>();
  for (const record of records) {
    const isChange = record.kind !== 'refused';
    const isWanted = isChange
      ? record.revision > from && record.revision <= to
      : record.revision >= from && record.revision <= to;
    if (isWanted) {
      const hasBefore = isChange && record.previousRevision !== 0;
      yield { record, before: hasBefore ? (newest.get(record.key)?.value ?? record.before) : '' };
    }
    if (isChange) newest.set(record.key, record);
  }
}
