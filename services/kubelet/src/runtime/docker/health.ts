import { parseTime } from '@holdfast/platform';
import { isCode } from '../engine-errors.ts';
import type { ContainerUsage, RuntimeHealth } from '../port.ts';
import { type Engine, part } from './engine.ts';
import type { EngineStats, EngineVersion, ListedContainer } from './engine-types.ts';
import { containerNameOf, isContainer, podUidOf } from './labels.ts';
import { type DockerStore, listedLabels } from './store.ts';
import { isPodman } from './versions.ts';

const DOCKER = 'docker';
const PODMAN = 'podman';

export const engineName = (version: EngineVersion): string => (isPodman(version) ? PODMAN : DOCKER);

export async function readVersion(engine: Engine): Promise<string> {
  const version = await engine.json<EngineVersion>({ method: 'GET', path: '/version' });
  return `${engineName(version)}://${version.Version}`;
}

/** An engine that answers can run pods: it sets up networks itself. */
export async function readHealth(engine: Engine): Promise<RuntimeHealth> {
  await engine.json<EngineVersion>({ method: 'GET', path: '/version' });
  return {};
}

export async function readUsage(engine: Engine, store: DockerStore): Promise<readonly ContainerUsage[]> {
  const listed = await store.listed(undefined);
  const running = listed.filter((each) => each.State === 'running' && isContainer(listedLabels(each)));
  const all = await Promise.all(running.map((each) => usageOf(engine, each)));
  return all.filter((each) => each !== undefined);
}

async function usageOf(engine: Engine, listed: ListedContainer): Promise<ContainerUsage | undefined> {
  const path = `/containers/${part(listed.Id)}/stats`;
  const query = { stream: 'false', 'one-shot': 'true' };
  try {
    const stats = await engine.json<EngineStats>({ method: 'GET', path, query });
    const labels = listedLabels(listed);
    return { podUid: podUidOf(labels), container: containerNameOf(labels), ...measuresOf(stats) };
  } catch (error) {
    // It ended meanwhile.
    if (isCode(error, 'NotFound') || isCode(error, 'IllegalState')) return undefined;
    throw error;
  }
}

export function measuresOf({
  read,
  cpu_stats: cpu,
  memory_stats: memory,
  pids_stats: pids,
}: EngineStats): Omit<ContainerUsage, 'podUid' | 'container'> {
  const { total_inactive_file: ofAll, inactive_file: own = 0 } = memory?.stats ?? {};
  const used = memory?.usage ?? 0;
  return {
    at: Math.max(0, parseTime(read) ?? 0),
    cpuNanoseconds: cpu?.cpu_usage?.total_usage ?? 0,
    // Files that nobody used lately can be dropped.
    memoryBytes: Math.max(0, used - (ofAll ?? own)),
    ...(pids?.current === undefined ? {} : { processes: pids.current }),
  };
}

/** Resolves with the reason why this engine cannot be given the control group of a pod; undefined: it can. */
export async function readGroupsRefusal(engine: Engine): Promise<string | undefined> {
  const { CgroupDriver } = await engine.json<{ readonly CgroupDriver?: string }>({ method: 'GET', path: '/info' });
  return CgroupDriver === 'cgroupfs'
    ? undefined
    : `the Docker engine uses the cgroup driver ${CgroupDriver ?? 'unknown'}; self-fencing needs cgroupfs`;
}
