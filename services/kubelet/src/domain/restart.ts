import { type Container, isSidecar, type Pod } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { type BackOff, restartDelay } from './back-off.ts';
import type { PodMemory } from './pod-worker-types.ts';
import { type ContainerLife, latestLife } from './records.ts';

export type ContainerRole = 'app' | 'init' | 'sidecar' | 'ephemeral';

export function roleOf(container: Container, pod: Pod): ContainerRole {
  const isIn = (list: readonly { readonly name: string }[] | undefined): boolean =>
    list?.some(({ name }) => name === container.name) === true;
  if (isIn(pod.spec.initContainers)) return isSidecar(container) ? 'sidecar' : 'init';
  return isIn(pod.spec.ephemeralContainers) ? 'ephemeral' : 'app';
}

/** Returns whether a container that ended in this way restarts by its policy. */
export function shouldRestart(role: ContainerRole, pod: Pod, life: Pick<ContainerLife, 'exitCode'>): boolean {
  if (role === 'sidecar') return true;
  // EPH-02
  if (role === 'ephemeral') return false;
  const policy = pod.spec.restartPolicy ?? 'Always';
  if (policy === 'Never') return false;
  return life.exitCode !== 0 || (policy === 'Always' && role === 'app');
}

/** As `shouldRestart`. A container that was stopped for another image starts again whatever the policy says. */
export const startsAgain = (
  role: ContainerRole,
  pod: Pod,
  ...[life, { replaced }]: readonly [ContainerLife, Pick<PodMemory, 'replaced'>]
): boolean => replaced[life.id] === true || shouldRestart(role, pod, life);

/** The pod names another image now. The policy does not matter: the container did not end by itself. */
export function isOutdated(container: Container, pod: Pod, life: Pick<ContainerLife, 'image'>): boolean {
  if (!namesOtherImage(container, life)) return false;
  const role = roleOf(container, pod);
  return role === 'sidecar' || role === 'app';
}

/** False when the image of this life is unknown. */
const namesOtherImage = ({ image = '' }: Container, life: Pick<ContainerLife, 'image'>): boolean =>
  life.image !== '' && life.image !== image;

/** The back-off belongs to one image: a container with another image restarts immediately. */
export const backOffOf = (
  container: Container,
  life: Pick<ContainerLife, 'image'>,
  memory: Pick<PodMemory, 'backOff'>,
): BackOff | undefined => (namesOtherImage(container, life) ? undefined : ownValue(memory.backOff, container.name));

export type RestartVerdict =
  | { readonly kind: 'never' }
  | { readonly kind: 'now' }
  | { readonly kind: 'wait'; readonly delayMs: number };

export function restartVerdict(
  container: Container,
  pod: Pod,
  life: ContainerLife,
  at: { readonly memory: PodMemory; readonly now: number },
): RestartVerdict {
  if (!startsAgain(roleOf(container, pod), pod, life, at.memory)) return { kind: 'never' };
  const delayMs = restartDelay(backOffOf(container, life, at.memory), life.finishedAt, at.now);
  return delayMs === 0 ? { kind: 'now' } : { kind: 'wait', delayMs };
}

/** Every app container has ended and none will run again. */
export function appsAreDone(
  pod: Pod,
  lifeOf: (container: Container) => ContainerLife | undefined,
  memory: Pick<PodMemory, 'replaced'>,
): boolean {
  return pod.spec.containers.every((container) => {
    const life = lifeOf(container);
    return life?.state === 'exited' && !startsAgain('app', pod, life, memory);
  });
}

/** A regular init container failed and may not run again: the pod has failed before it began. */
export function initHasFailed(pod: Pod, lifeOf: (container: Container) => ContainerLife | undefined): boolean {
  return (pod.spec.initContainers ?? []).some((container) => {
    const role = roleOf(container, pod);
    const life = lifeOf(container);
    return role === 'init' && life?.state === 'exited' && life.exitCode !== 0 && !shouldRestart(role, pod, life);
  });
}

export const lifeLookup =
  (pod: Pod, sandboxes: Parameters<typeof latestLife>[2]) =>
  (container: Container): ContainerLife | undefined =>
    latestLife(container, pod, sandboxes);

/** Regular ones have succeeded, sidecars have started at some time. An app container that ran proves it all. */
export function initIsDone({
  pod,
  sandboxes,
}: {
  readonly pod: Pod;
  readonly sandboxes: Parameters<typeof latestLife>[2];
}): boolean {
  const lifeOf = lifeLookup(pod, sandboxes);
  if (pod.spec.containers.some((container) => lifeOf(container) !== undefined)) return true;
  return (pod.spec.initContainers ?? []).every((container) => {
    const life = lifeOf(container);
    if (roleOf(container, pod) === 'sidecar') return life !== undefined && life.state !== 'created';
    return life?.state === 'exited' && life.exitCode === 0;
  });
}
