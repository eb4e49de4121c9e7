import type { Clock } from '@holdfast/platform';
import { type MemberTraits, memberKey, membersIn } from './container-members.ts';
import type { CoveredContainer } from './covered.ts';
import { PROCESS_SCAN_BATCH_MS, PROGRAM_START_MS } from './limits.ts';
import { createProcessTable, type MarkedProcess, type ProcessTable } from './process-table.ts';

export interface ProcessWatch {
  /**
   * Living processes of a container, from a reading of the table that began after the call: everything in the group or
   * session of its first process, everything that carries its id in the environment, what descends from those, and what
   * an earlier look knew. When the first process ended while nobody watched, its number may be somebody else's by now:
   * pass `leaderWasSeen: false` to go without group and session.
   * "None" is said only of a table in which every process shows whose it is, or after `PROGRAM_START_MS`.
   */
  members(record: CoveredContainer, options: { readonly leaderWasSeen: boolean }): Promise<readonly MarkedProcess[]>;
  /**
   * Looks once at containers whose first process was seen. What descends from them is known from then on, also when it
   * loses its parents, and until it is gone.
   */
  follow(records: readonly CoveredContainer[]): Promise<void>;
}

/** A hundred concurrent stops would read the table a hundred times: concurrent requests share one read. */
export function createProcessWatch(
  clock: Clock,
  bootId: string,
  table: ProcessTable = createProcessTable(),
): ProcessWatch {
  const known = createKnownMembers();
  let next: Promise<readonly MarkedProcess[]> | undefined;
  const read = (): Promise<readonly MarkedProcess[]> => {
    next ??= clock.sleep(PROCESS_SCAN_BATCH_MS).then(() => {
      next = undefined;
      return table.scan();
    });
    return next;
  };
  const leaderOf = ({ process: leader }: CoveredContainer) => (leader?.bootId === bootId ? leader : undefined);
  return {
    members: async (record, { leaderWasSeen }) => {
      const leader = leaderWasSeen ? leaderOf(record) : undefined;
      const giveUpAt = clock.monotonic() + PROGRAM_START_MS;
      for (;;) {
        const entries = await read();
        const found = known.recognize(entries, { id: record.id, leader });
        const isSure = found.length > 0 || !entries.some(({ isStarting }) => isStarting);
        if (isSure || clock.monotonic() >= giveUpAt) return found;
      }
    },
    follow: async (records) => {
      if (records.length === 0 && known.isEmpty()) return;
      const entries = await read();
      known.keepOnly(entries, new Set(records.map(({ id }) => id)));
      for (const record of records) known.recognize(entries, { id: record.id, leader: leaderOf(record) });
    },
  };
}

function createKnownMembers() {
  const known = new Map<string, ReadonlySet<string>>();
  return {
    isEmpty: (): boolean => known.size === 0,
    recognize: (
      entries: readonly MarkedProcess[],
      { id, leader }: Pick<MemberTraits, 'id' | 'leader'>,
    ): readonly MarkedProcess[] => {
      const isOther = (marker: string): boolean => marker !== id && known.has(marker);
      const found = membersIn(entries, { id, leader, known: known.get(id) ?? new Set(), isOther });
      known.set(id, new Set(found.map(memberKey)));
      return found;
    },
    /** A container whose record cannot be read for a moment has its members all the same. */
    keepOnly: (entries: readonly MarkedProcess[], ids: ReadonlySet<string>): void => {
      const living = new Set(entries.map(memberKey));
      for (const id of ids) if (!known.has(id)) known.set(id, new Set());
      for (const [id, members] of known) if (!ids.has(id) && members.isDisjointFrom(living)) known.delete(id);
    },
  };
}
