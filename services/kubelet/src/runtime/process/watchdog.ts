import { type ClassCgroups, COVERED_CLASSES } from '../class-cgroups.ts';
import { type FencingDeadline, isCoveredBy, isPast } from '../fencing-deadline.ts';
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
  /** The control groups in which a container runtime has its containers. */
  readonly groups: Pick<ClassCgroups, 'end' | 'isPopulated'>;
  readonly tell: (message: string) => void;
}

/** One check: after the deadline every covered process is killed. Resolves with their number; a control group counts as one. */
export async function enforceDeadline(deps: WatchdogDeps): Promise<number> {
  const deadline = deps.deadline();
  if (deadline === undefined || !isPast(deadline, deps.now())) return 0;
  const populated = endGroups(deps, deadline.policy);
  const found = await Promise.all(
    deps.covered(deadline.policy).map((record) => deps.processes.members(record, { leaderWasSeen: true })),
  );
  const pids = [...new Set(found.flat().map(({ pid }) => pid))];
  for (const pid of pids) deps.kill(pid);
  if (pids.length > 0) deps.tell(`the deadline has passed: killed ${pids.length} processes`);
  return pids.length + populated;
}

/** Also the empty ones: a container that is on its way into one must not run. Returns how many had processes. */
function endGroups({ groups, tell }: WatchdogDeps, policy: FencingDeadline['policy']): number {
  const covered = COVERED_CLASSES.filter((each) => isCoveredBy(policy, each));
  const populated = covered.filter((each) => groups.isPopulated(each));
  for (const each of covered) groups.end(each);
  if (populated.length > 0) tell(`the deadline has passed: killed the containers of class ${populated.join(', ')}`);
  return populated.length;
}
