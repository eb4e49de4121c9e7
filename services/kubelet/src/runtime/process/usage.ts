import { readFileSync } from 'node:fs';
import type { ContainerUsage, SandboxStatus } from '../port.ts';
import type { MarkedProcess } from './process-table.ts';

/** The unit of the kernel's counters in `/proc`, on every Linux that Node supports. */
const TICK_NANOSECONDS = 10_000_000;
const KIBIBYTE = 1024;

/**
 * Sums the usage of each running container's processes. They are found by the marker in their environment; a process
 * without it by its session.
 */
export function usageOf(
  sandboxes: readonly SandboxStatus[],
  processes: readonly MarkedProcess[],
  at: number,
): readonly ContainerUsage[] {
  const bySession = new Map(processes.filter(({ marker }) => marker !== '').map((each) => [each.session, each.marker]));
  const byContainer = Map.groupBy(processes, ({ marker, session }) =>
    marker === '' ? bySession.get(session) : marker,
  );
  return sandboxes.flatMap(({ config, containers }) =>
    containers.flatMap((container) => {
      const own = byContainer.get(container.id);
      if (container.state !== 'running' || own === undefined) return [];
      const used = own.map(({ pid }) => processUsage(pid));
      return {
        podUid: config.podUid,
        container: container.config.name,
        at,
        cpuNanoseconds: used.reduce((sum, { cpuNanoseconds }) => sum + cpuNanoseconds, 0),
        memoryBytes: used.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
        processes: own.length,
      };
    }),
  );
}

interface ProcessUsage {
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
}

/** A process that ended meanwhile uses nothing. */
function processUsage(pid: number): ProcessUsage {
  try {
    return {
      cpuNanoseconds: cpuTicks(readFileSync(`/proc/${pid}/stat`, 'utf8')) * TICK_NANOSECONDS,
      memoryBytes: ownKibibytes(readFileSync(`/proc/${pid}/status`, 'utf8')) * KIBIBYTE,
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error) return { cpuNanoseconds: 0, memoryBytes: 0 };
    throw error;
  }
}

/** Its own, and of its children that ended: `utime`, `stime`, `cutime`, `cstime`. */
export function cpuTicks(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

/** Excludes mapped files: the system can reclaim them, and several processes share them. */
export function ownKibibytes(status: string): number {
  const fields = ['RssAnon', 'RssShmem'].map((name) => new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return fields.reduce((sum, field) => sum + Number(field ?? 0), 0);
}
