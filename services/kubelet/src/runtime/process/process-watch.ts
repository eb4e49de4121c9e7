import type { Clock } from '@holdfast/platform';
import type { CoveredContainer } from './covered.ts';
import { PROCESS_SCAN_BATCH_MS, PROGRAM_START_MS } from './limits.ts';
import { createProcessTable, type MarkedProcess, type ProcessIdentity, type ProcessTable } from './process-table.ts';

export interface ProcessWatch {
  /**
   * Living processes of a container, from a reading of the table that began after the call: everything in the group or
   * session of its first process, and everything that carries its id in the environment. When the first process ended
   * while nobody watched, its number may be somebody else's by now: pass `leaderWasSeen: false` to go by the environment.
   * "None" is said only of a table in which every process shows whose it is, or after `PROGRAM_START_MS`.
   */
  members(record: CoveredContainer, options: { readonly leaderWasSeen: boolean }): Promise<readonly MarkedProcess[]>;
}

/** A hundred concurrent stops would read the table a hundred times: concurrent requests share one read. */
export function createProcessWatch(
  clock: Clock,
  bootId: string,
  table: ProcessTable = createProcessTable(),
): ProcessWatch {
  let next: Promise<readonly MarkedProcess[]> | undefined;
  const read = (): Promise<readonly MarkedProcess[]> => {
    next ??= clock.sleep(PROCESS_SCAN_BATCH_MS).then(() => {
      next = undefined;
      return table.scan();
    });
    return next;
  };
  return {
    members: async (record, { leaderWasSeen }) => {
      const leader = leaderWasSeen && record.process?.bootId === bootId ? record.process : undefined;
      const giveUpAt = clock.monotonic() + PROGRAM_START_MS;
      for (;;) {
        const entries = await read();
        const found = entries.filter((entry) => entry.marker === record.id || isInSession(entry, leader));
        const isSure = found.length > 0 || !entries.some(({ isStarting }) => isStarting);
        if (isSure || clock.monotonic() >= giveUpAt) return found;
      }
    },
  };
}

/** A later process may have got the number of the first one: then its start differs, and it is not ours. */
function isInSession(entry: MarkedProcess, leader: ProcessIdentity | undefined): boolean {
  if (leader === undefined || entry.marker !== '') return false;
  if (entry.pid === leader.pid) return entry.startTicks === leader.startTicks;
  return entry.group === leader.pid || entry.session === leader.pid;
}
