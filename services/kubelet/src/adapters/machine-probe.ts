import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { cpus, freemem, totalmem } from 'node:os';
import { join } from 'node:path';
import type { MachineProbe } from '../stats/node-stats.ts';
import type { DiskSample, DiskUse, MachineSample } from '../stats/port.ts';

/** Reads the machine's free resources from the system's own counters. */
export function createMachineProbe(stateDirectory: string): MachineProbe {
  return {
    sample: () => sampleMachine(stateDirectory),
    room: (path) => (existsSync(path) ? readDisk(path) : undefined),
    diskUse: (path) => diskUse(path),
  };
}

const NANOSECONDS_PER_MS = 1_000_000;

function sampleMachine(stateDirectory: string): MachineSample {
  const processes = readProcesses();
  const bootedAt = /^btime (\d+)$/m.exec(readText('/proc/stat'))?.[1];
  const busyMs = cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  return {
    cpuNanoseconds: busyMs * NANOSECONDS_PER_MS,
    ...(bootedAt === undefined ? {} : { bootedAt: Number(bootedAt) * 1000 }),
    memory: { capacityBytes: totalmem(), availableBytes: availableMemory() },
    nodeFs: readDisk(stateDirectory),
    ...(processes === undefined ? {} : { processes }),
  };
}

/** Includes memory that the system can reclaim from its caches. */
function availableMemory(): number {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readText('/proc/meminfo'))?.[1];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}

function readDisk(path: string): DiskSample {
  const { blocks, bavail, bsize, files, ffree } = statfsSync(path);
  return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize, inodes: files, inodesFree: ffree };
}

function readProcesses(): MachineSample['processes'] {
  const running = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(readText('/proc/loadavg'))?.[1];
  const limits = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map((path) => Number(readText(path)));
  const max = Math.min(...limits.filter((each) => each > 0));
  return running === undefined || max === Number.POSITIVE_INFINITY ? undefined : { running: Number(running), max };
}

const BLOCK_BYTES = 512;

/** Links are not followed; files that vanish while they are counted were small enough. */
async function diskUse(path: string): Promise<DiskUse> {
  const found = await lstat(path).catch(ignoreMissing);
  if (found === undefined) return { bytes: 0, inodes: 0 };
  let use = { bytes: found.blocks * BLOCK_BYTES, inodes: 1 };
  if (!found.isDirectory()) return use;
  for (const name of (await readdir(path).catch(ignoreMissing)) ?? []) {
    const inner = await diskUse(join(path, name));
    use = { bytes: use.bytes + inner.bytes, inodes: use.inodes + inner.inodes };
  }
  return use;
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && MISSING.has(String(error.code))) return undefined;
  throw error;
}

/** The file is gone or not accessible. */
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM']);

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
