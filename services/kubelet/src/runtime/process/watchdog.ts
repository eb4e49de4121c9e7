import type { FencingDeadline } from '../fencing-deadline.ts';
import { isPast } from '../fencing-deadline.ts';
import type { ProcessWatch } from './process-watch.ts';
import type { ContainerRecord } from './records.ts';

export interface WatchdogDeps {
  /** On a clock that includes suspend. */
  readonly now: () => number;
  readonly deadline: () => FencingDeadline | undefined;
  /** Containers that the policy covers and that have not been recorded as ended. */
  readonly covered: (policy: FencingDeadline['policy']) => readonly ContainerRecord[];
  readonly processes: ProcessWatch;
  readonly kill: (pid: number) => void;
  readonly tell: (message: string) => void;
}

/** One check: after the deadline every covered process is killed. Resolves with their number. */
export async function enforceDeadline(deps: WatchdogDeps): Promise<number> {
  const deadline = deps.deadline();
  if (deadline === undefined || !isPast(deadline, deps.now())) return 0;
  const found = await Promise.all(
    deps.covered(deadline.policy).map((record) => deps.processes.members(record, { leaderWasSeen: true })),
  );
  const pids = [...new Set(found.flat().map(({ pid }) => pid))];
  for (const pid of pids) deps.kill(pid);
  if (pids.length > 0) deps.tell(`the deadline has passed: killed ${pids.length} processes`);
  return pids.length;
}
