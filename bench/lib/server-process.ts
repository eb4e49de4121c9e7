import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** Time on any core that the process has used: unlike the clock on the wall it does not mind who else is busy. */
export function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program may hold spaces; what follows its closing parenthesis does not.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** The most that it has ever had. */
export function peakResidentMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

const LOOK_MS = 250;
const LOOKS_MAX = 240;
/** Less than this in one look is what a server without work uses. */
const AT_REST_MS = 30;

/** The same, once the process has nothing left to do. */
export async function restedCpuMs(pid: number): Promise<number> {
  let before = cpuMs(pid);
  for (let look = 0; look < LOOKS_MAX; look++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const now = cpuMs(pid);
    if (now - before < AT_REST_MS) return now;
    before = now;
  }
  return before;
}
