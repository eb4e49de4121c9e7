import { readFileSync } from 'node:fs';
import type { ContainerStatus, ContainerUsage, SandboxStatus } from '../port.ts';
import type { MarkedProcess } from './process-table.ts';

/** The unit of the kernel's counters in `/proc`, on every Linux that Node supports. */
const TICK_NANOSECONDS = 10_000_000;
const KIBIBYTE = 1024;

/** Measures the usage of running containers. Its CPU time of a container never decreases, as metrics clients expect of a counter. */
export interface UsageMeter {
  measure(
    sandboxes: readonly SandboxStatus[],
    processes: readonly MarkedProcess[],
    at: number,
  ): readonly ContainerUsage[];
}

/** What is remembered of a container between two measurements. */
interface ContainerMeter {
  readonly startedAt: number | undefined;
  readonly running: ReadonlyMap<string, { readonly cpuNanoseconds: number; readonly isChild: boolean }>;
  /** Of processes that ended and whose parent is not in the container, such as those of exec and probes. */
  readonly endedNanoseconds: number;
  readonly cpuNanoseconds: number;
}

/**
 * Sums the usage of each running container's processes. They are found by the marker in their environment; a process
 * without it by its session.
 */
export function createUsageMeter(read: (pid: number) => ProcessUsage = processUsage): UsageMeter {
  let meters = new Map<string, ContainerMeter>();
  return {
    measure: (sandboxes, processes, at) => {
      const byContainer = processesByContainer(processes);
      const next = new Map<string, ContainerMeter>();
      const usages = runningIn(sandboxes).flatMap(({ podUid, container }) => {
        const before = meters.get(container.id);
        const used = byContainer.get(container.id)?.map((process) => ({ process, usage: read(process.pid) }));
        const meter = used === undefined ? before : advanced(before, container, used);
        if (meter !== undefined) next.set(container.id, meter);
        if (used === undefined || meter === undefined) return [];
        const memoryBytes = used.reduce((sum, { usage }) => sum + usage.memoryBytes, 0);
        const { cpuNanoseconds } = meter;
        return { podUid, container: container.config.name, at, cpuNanoseconds, memoryBytes, processes: used.length };
      });
      meters = next;
      return usages;
    },
  };
}

const runningIn = (sandboxes: readonly SandboxStatus[]) =>
  sandboxes.flatMap(({ config: { podUid }, containers }) =>
    containers.filter(({ state }) => state === 'running').map((container) => ({ podUid, container })),
  );

function processesByContainer(processes: readonly MarkedProcess[]): ReadonlyMap<string | undefined, MarkedProcess[]> {
  const bySession = new Map(processes.filter(({ marker }) => marker !== '').map((each) => [each.session, each.marker]));
  return Map.groupBy(processes, ({ marker, session }) => (marker === '' ? bySession.get(session) : marker));
}

interface MeasuredProcess {
  readonly process: MarkedProcess;
  readonly usage: ProcessUsage;
}

/** The kernel adds a process that ended to its parent, so a child within the container is not added a second time. */
function advanced(
  before: ContainerMeter | undefined,
  { startedAt }: Pick<ContainerStatus, 'startedAt'>,
  used: readonly MeasuredProcess[],
): ContainerMeter {
  const last = before?.startedAt === startedAt ? before : undefined;
  const pids = new Set(used.map(({ process }) => process.pid));
  const running = new Map(
    used.map(({ process, usage: { cpuNanoseconds } }) => {
      const key = `${process.pid}/${process.startTicks}`;
      const known = last?.running.get(key)?.cpuNanoseconds ?? 0;
      return [key, { cpuNanoseconds: Math.max(known, cpuNanoseconds), isChild: pids.has(process.parent) }];
    }),
  );
  const ended = [...(last?.running ?? [])].filter(([key, { isChild }]) => !isChild && !running.has(key));
  const endedNanoseconds = sumOf(ended.map(([, each]) => each)) + (last?.endedNanoseconds ?? 0);
  const total = sumOf([...running.values()]) + endedNanoseconds;
  return { startedAt, running, endedNanoseconds, cpuNanoseconds: Math.max(total, last?.cpuNanoseconds ?? 0) };
}

const sumOf = (each: readonly { readonly cpuNanoseconds: number }[]): number =>
  each.reduce((sum, { cpuNanoseconds }) => sum + cpuNanoseconds, 0);

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
