import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process, safe against reuse of its number: a later process with the same number began at another time. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, in the words of the system, with the boot that it belongs to. */
  readonly began: string;
}

/** Undefined: there is no living process of this number. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const began = process.platform === 'linux' ? beganOnLinux(pid) : beganElsewhere(pid);
  return began === undefined ? undefined : { pid, began };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.began === identity.began;
}

/** False only when the machine has surely been started again since this process began. */
export function isOfThisBoot({ began }: ProcessIdentity): boolean {
  const boot = process.platform === 'linux' ? (readIfThere(BOOT_ID_FILE)?.trim() ?? '') : '';
  const then = began.slice(0, Math.max(0, began.lastIndexOf('/')));
  return boot === '' || then === '' || then === boot;
}

/** Sends the signal to this process only, never to a later one of its number. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    // It ended in between.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';
/** Fields of `/proc/<pid>/stat` after the command, which may hold spaces and parentheses. */
const STATE_FIELD = 0;
const START_FIELD = 19;
/** Dead: only the exit status waits for the parent. */
const DEAD = new Set(['Z', 'X']);

function beganOnLinux(pid: number): string | undefined {
  const text = readIfThere(`/proc/${pid}/stat`);
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  const ticks = fields[START_FIELD];
  if (ticks === undefined || DEAD.has(fields[STATE_FIELD] ?? '')) return undefined;
  return `${readIfThere(BOOT_ID_FILE)?.trim() ?? ''}/${ticks}`;
}

function beganElsewhere(pid: number): string | undefined {
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const began = stdout.trim();
  return status === 0 && began !== '' ? began : undefined;
}

/** A process may end while it is read. */
function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
