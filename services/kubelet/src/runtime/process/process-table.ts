import { readdirSync, readFileSync } from 'node:fs';

/** A process, safe against reuse of its number: a later process with the same number started at another tick. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of `/proc/<pid>/stat`: clock ticks since boot. */
  readonly startTicks: string;
  readonly bootId: string;
}

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTicks: string;
  /** Dead, only its exit status is waiting for the parent. */
  readonly zombie: boolean;
}

/**
 * In the environment of every process of a container, so that one that left its group and session is still recognized.
 */
export const CONTAINER_MARKER = 'HOLDFAST_CONTAINER_ID';

export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

export function readProcess(pid: number): ProcessEntry | undefined {
  const text = readProcFile(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** Every living process, without reading what it carries. */
export function processEntries(): readonly ProcessEntry[] {
  return processIds().flatMap((pid) => {
    const entry = readProcess(pid);
    return entry === undefined || entry.zombie ? [] : [entry];
  });
}

/** The command may hold spaces and parentheses: fields are counted after the last closing one. */
export function parseStat(text: string): ProcessEntry | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session] = fields;
  const startTicks = fields[19];
  const pid = Number.parseInt(text, 10);
  if (state === undefined || startTicks === undefined || Number.isNaN(pid)) return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTicks,
    zombie: state === 'Z' || state === 'X',
  };
}

/** The living process with this identity. */
export function findAlive(identity: ProcessIdentity, bootId: string): ProcessEntry | undefined {
  if (identity.bootId !== bootId) return undefined;
  const entry = readProcess(identity.pid);
  return entry !== undefined && entry.startTicks === identity.startTicks && !entry.zombie ? entry : undefined;
}

export interface MarkedProcess extends ProcessEntry {
  /** Container id from its environment; '' when it has none or may not be read. */
  readonly marker: string;
  /** Begins a program (`execve`): for a moment it shows no environment, so nobody can say whose it is. */
  readonly isStarting: boolean;
}

export interface ProcessTable {
  readonly scan: () => readonly MarkedProcess[];
}

/** Reads a file of `/proc`; undefined: the process is gone, or the file may not be read. */
export type ReadProcFile = (path: string) => string | undefined;

/** Reads the whole table. Environments are read once per process and session: exec and setsid happen at a container's start. */
export function createProcessTable(
  pids: () => readonly number[] = processIds,
  read: ReadProcFile = readProcFile,
): ProcessTable {
  let known = new Map<string, string>();
  const scan = (): readonly MarkedProcess[] => {
    const seen = new Map<string, string>();
    const entries: MarkedProcess[] = [];
    for (const pid of pids()) {
      const entry = parseStat(read(`/proc/${pid}/stat`) ?? '');
      if (entry === undefined || entry.zombie) continue;
      const key = `${pid}/${entry.startTicks}/${entry.session}`;
      const marker = known.get(key) ?? readMarker(pid, read);
      if (typeof marker === 'string') seen.set(key, marker);
      const isStarting = marker === STARTING;
      entries.push({ ...entry, marker: typeof marker === 'string' ? marker : '', isStarting });
    }
    known = seen;
    return entries;
  };
  return { scan };
}

const STARTING = Symbol('a process that begins a program');

/** '' = has none; undefined = may not be read. */
function readMarker(pid: number, read: ReadProcFile): string | typeof STARTING | undefined {
  const environment = read(`/proc/${pid}/environ`);
  if (environment !== '') return environment === undefined ? undefined : markerIn(environment);
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  if (beginsProgram(stat)) return STARTING;
  // The program has begun in between.
  const later = read(`/proc/${pid}/environ`);
  return later === undefined ? undefined : markerIn(later);
}

function markerIn(environment: string): string {
  const prefix = `${CONTAINER_MARKER}=`;
  return (
    environment
      .split('\0')
      .find((candidate) => candidate.startsWith(prefix))
      ?.slice(prefix.length) ?? ''
  );
}

/** PF_KTHREAD of the kernel's `sched.h`. */
const KERNEL_THREAD = 0x0020_0000;

/** The end of the environment (field 51) is not set while `execve` replaces the program. Kernel threads never have one. */
function beginsProgram(stat: string): boolean {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[48] === '0' && (Number(fields[6]) & KERNEL_THREAD) === 0;
}

const processIds = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Processes end while they are read (ENOENT, ESRCH), and other users' environments are closed to us (EACCES, EPERM). */
function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && isExpected(String(error.code))) return undefined;
    throw error;
  }
}

const isExpected = (code: string): boolean => ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code);
