import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { ChosenSuite } from './selection.ts';

/** The lowest: such a process runs when no other wants the processor. */
const LOWEST = 19;
/** A test in idle time has this many times its time. */
export const IDLE_PATIENCE = 4;

/** A suite, and those that start with it to run in idle time. */
export interface Turn {
  readonly suite: ChosenSuite;
  readonly beside: readonly ChosenSuite[];
}

/** A suite starts beside its partner; when that is not chosen, it has a turn of its own. */
export function turnsOf(chosen: readonly ChosenSuite[]): readonly Turn[] {
  const names = new Set(chosen.map(({ suite }) => suite.name));
  return chosen
    .filter(({ suite }) => suite.inIdleTimeOf === undefined || !names.has(suite.inIdleTimeOf))
    .map((each) => ({ suite: each, beside: chosen.filter(({ suite }) => suite.inIdleTimeOf === each.suite.name) }));
}

/** Where the processes of a suite print to, and how they are started. */
export interface Lane {
  readonly output: 'inherit' | number;
  readonly isIdle: boolean;
}

export const MAIN_LANE: Lane = { output: 'inherit', isIdle: false };

/** Runs with a lane whose output is printed at the end, so that two suites do not mix theirs. */
export async function withIdleLane<T>(
  file: string,
  run: (lane: Lane) => Promise<T>,
  print: (output: Uint8Array) => void = (output) => process.stdout.write(output),
): Promise<T> {
  const output = openSync(file, 'w');
  try {
    return await run({ output, isIdle: true });
  } finally {
    closeSync(output);
    print(readFileSync(file));
  }
}

/** The process groups that run in idle time. */
const idleGroups = new Set<number>();

/** What runs in idle time stands still until this is done. */
export async function withoutIdleTime<T>(run: () => Promise<T>): Promise<T> {
  signalIdleGroups('SIGSTOP');
  try {
    return await run();
  } finally {
    signalIdleGroups('SIGCONT');
  }
}

function signalIdleGroups(signal: NodeJS.Signals): void {
  for (const group of idleGroups) process.kill(-group, signal);
}

export function spawnInLane(args: readonly string[], lane: Lane, options: { cwd: string; env: NodeJS.ProcessEnv }) {
  const stdio = ['ignore', lane.output, lane.output] as const;
  const child = spawn(process.execPath, args, { ...options, stdio: [...stdio], detached: lane.isIdle });
  const { pid } = child;
  if (!lane.isIdle || pid === undefined) return child;
  lowerPriority(pid);
  idleGroups.add(pid);
  child.once('exit', () => idleGroups.delete(pid));
  return child;
}

/** Linux compares priorities within a session only, unless the whole session has one. */
function lowerPriority(pid: number): void {
  setPriority(pid, LOWEST);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(LOWEST));
  } catch {
    // Sessions have no priorities here: that of the process counts.
  }
}
