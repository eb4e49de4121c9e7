import { readdirSync, readFileSync } from 'node:fs';

const PROCESSES = '/proc';
const MONITOR = 'libpod-conmon-';

/**
 * The processes of a container, when its engine runs on this machine: each of them is in its control group. None where
 * they cannot be seen (the engine runs in a virtual machine).
 */
export function processesOf(containerId: string): readonly number[] {
  return pids().filter((pid) => belongsTo(pid, containerId));
}

export function belongsTo(pid: number, containerId: string): boolean {
  try {
    return isGroupOf(readFileSync(`${PROCESSES}/${pid}/cgroup`, 'utf8'), containerId);
  } catch {
    return false;
  }
}

/** Podman's monitor of a container is in a group of its own beside it, and lives a moment longer. */
export const isGroupOf = (groups: string, containerId: string): boolean =>
  groups.replaceAll(`${MONITOR}${containerId}`, '').includes(containerId);

/** Kills what a container that ended left in its control group. Only root of the same machine can. */
export function killLeftOver(containerId: string): void {
  for (const pid of processesOf(containerId)) if (pid > 1) kill(pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile, or it belongs to another user.
  }
}

function pids(): readonly number[] {
  try {
    return readdirSync(PROCESSES)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Kills a command beside a container and what it started in its session. Only root of the same machine can. */
export function killCommand(pid: number, containerId: string): void {
  if (pid <= 1 || !belongsTo(pid, containerId)) return;
  for (const target of [-pid, pid]) kill(target);
}

const CAP_SYS_RESOURCE = 24n;
const OOM_SCORE_MIN = -1000;

/** The kill order (`oom_score_adj`) that processes of this machine can have: without the capability only their own one or more. */
export function oomScoreMin(): number {
  try {
    const [, effective = '0'] = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync(`${PROCESSES}/self/status`, 'utf8')) ?? [];
    if (((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 1n) return OOM_SCORE_MIN;
    return process.getuid?.() === 0 ? Number(readFileSync(`${PROCESSES}/self/oom_score_adj`, 'utf8')) : OOM_SCORE_MIN;
  } catch {
    return OOM_SCORE_MIN;
  }
}
