import { type ClassCgroups, COVERED_CLASSES, type CoveredClass } from '../class-cgroups.ts';
import { type FencingDeadline, type FencingPolicy, isCoveredBy, isPast } from '../fencing-deadline.ts';
import type { Covered } from './covered.ts';
import type { ProcessWatch } from './process-watch.ts';

export interface WatchdogDeps {
  /** On a clock that includes suspend. */
  readonly now: () => number;
  readonly deadline: () => FencingDeadline | undefined;
  /** Containers that the policy covers and that have not been recorded as ended. */
  readonly covered: (policy: FencingDeadline['policy']) => Covered;
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
  // What fails in one place is tried in the others all the same, and makes the look a failed one.
  const ended = await Promise.allSettled([
    killProcesses(deps, deadline.policy),
    ...COVERED_CLASSES.filter((each) => isCoveredBy(deadline.policy, each)).map((each) => endGroup(deps, each)),
  ]);
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return ended.reduce((sum, each) => sum + (each.status === 'fulfilled' ? each.value : 0), 0);
}

async function killProcesses({ covered, processes, kill, tell }: WatchdogDeps, policy: FencingPolicy): Promise<number> {
  const { containers, failures } = covered(policy);
  const found = await Promise.all(containers.map((each) => processes.members(each, { leaderWasSeen: true })));
  const pids = [...new Set(found.flat().map(({ pid }) => pid))];
  for (const pid of pids) kill(pid);
  if (pids.length > 0) tell(`the deadline has passed: killed ${pids.length} processes`);
  // There may be others: the next look reads again.
  if (failures.length > 0) throw failures[0];
  return pids.length;
}

/** Also an empty one: a container that is on its way into it must not run. Resolves with 1 when it had processes. */
async function endGroup({ groups, tell }: WatchdogDeps, fencing: CoveredClass): Promise<number> {
  const isPopulated = groups.isPopulated(fencing);
  groups.end(fencing);
  if (isPopulated) tell(`the deadline has passed: killed the containers of class ${fencing}`);
  return isPopulated ? 1 : 0;
}
