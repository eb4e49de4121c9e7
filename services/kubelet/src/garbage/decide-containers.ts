import type { ContainerStatus, SandboxStatus } from '../runtime/port.ts';
import type { ContainerPolicy } from './policy.ts';

/** Unused containers and sandboxes. Containers first: a sandbox is removed when it is empty. */
export interface ContainerPlan {
  readonly containers: readonly string[];
  readonly sandboxes: readonly string[];
}

/** Lives of one container of one pod, the latest first. */
type Lives = readonly ContainerStatus[];

/**
 * The latest life of every container stays with its pod: the pod's status and log need it. The policy limits the number
 * of earlier lives. Workers handle pods that are gone: they confirm the end of every process before anything is
 * removed.
 */
export function decideContainers(
  policy: ContainerPolicy,
  sandboxes: readonly SandboxStatus[],
  now: number,
): ContainerPlan {
  const isEvictable = ({ state, createdAt }: ContainerStatus): boolean =>
    state === 'exited' && now - createdAt >= policy.minAgeMs;
  const units = unitsOf(sandboxes).map(([, ...earlier]) => earlier.filter(isEvictable));
  const kept = keptLives(policy);
  const remove = units.flatMap((dead) => dead.slice(kept));
  if (policy.total >= 0) {
    const left = units.map((dead) => dead.slice(0, kept));
    remove.push(...beyondTotal(left, policy.total));
  }
  const gone = new Set(remove.map(({ id }) => id));
  return { containers: [...gone], sandboxes: emptySandboxes(sandboxes, gone) };
}

/** Beside the latest. */
export const keptLives = ({ perContainer }: Pick<ContainerPolicy, 'perContainer'>): number =>
  perContainer < 0 ? Number.POSITIVE_INFINITY : perContainer;

function unitsOf(sandboxes: readonly SandboxStatus[]): readonly Lives[] {
  const units = new Map<string, ContainerStatus[]>();
  for (const { config, containers } of sandboxes) {
    for (const container of containers) {
      const key = `${config.podUid}/${container.config.name}`;
      units.set(key, [...(units.get(key) ?? []), container]);
    }
  }
  return [...units.values()].map((lives) => lives.toSorted(laterFirst));
}

const laterFirst = (a: ContainerStatus, b: ContainerStatus): number =>
  b.config.restartCount - a.config.restartCount || b.createdAt - a.createdAt;

/** Shared out evenly as far as it goes, then the oldest of all. */
function beyondTotal(units: readonly Lives[], total: number): readonly ContainerStatus[] {
  const count = units.reduce((sum, { length }) => sum + length, 0);
  if (count <= total) return [];
  const share = Math.max(1, Math.floor(total / units.filter(({ length }) => length > 0).length));
  const first = units.flatMap((lives) => lives.slice(share));
  const left = units.flatMap((lives) => lives.slice(0, share)).toSorted((a, b) => a.createdAt - b.createdAt);
  return [...first, ...left.slice(0, Math.max(0, left.length - total))];
}

/** Earlier ones of a pod whose sandbox was replaced. */
function emptySandboxes(sandboxes: readonly SandboxStatus[], gone: ReadonlySet<string>): readonly string[] {
  const latest = new Map<string, number>();
  for (const { config } of sandboxes)
    latest.set(config.podUid, Math.max(latest.get(config.podUid) ?? 0, config.attempt));
  return sandboxes
    .filter(({ state, config }) => state === 'notReady' && config.attempt < (latest.get(config.podUid) ?? 0))
    .filter(({ containers }) => containers.every(({ id }) => gone.has(id)))
    .map(({ id }) => id);
}
