import type { Container, Pod, Service } from '@holdfast/api';
import { containerIsolation } from '../domain/container-isolation.ts';
import { buildEnvironment, environmentReferences, expandAll } from '../domain/environment.ts';
import { containerUser, refuseForeignIds } from '../domain/refusals.ts';
import { serviceVariables } from '../domain/service-variables.ts';
import type { ContainerConfig, RuntimeAbilities } from '../runtime/port.ts';
import type { ImageStatus } from '../runtime/port-images.ts';
import type { ContainerVolumes } from '../volumes/pod-volumes.ts';
import type { ReferencedTexts } from './referenced-texts.ts';

export interface ContainerConfigDeps {
  /** What variables refer to, by `ConfigMap/name` or `Secret/name`. */
  readonly texts: ReferencedTexts;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly hostIp: string;
  /** Absent for a runtime that pretends everything. */
  readonly abilities: RuntimeAbilities | undefined;
  /** Every service of the cluster. */
  readonly services: (pod: Pod) => Promise<readonly Service[]>;
  /** Absent where nothing keeps files. */
  readonly volumes?: (environment: Readonly<Record<string, string>>) => Promise<ContainerVolumes>;
}

export interface ContainerLifeFacts {
  readonly restartCount: number;
  readonly podIp: string;
  readonly morePodIps: readonly string[];
  /** Absent: the runtime has no images. */
  readonly image: ImageStatus | undefined;
  /** Id of the container whose processes an ephemeral one is to see. */
  readonly target: string | undefined;
  /** The sandbox has a user namespace: ids are ids inside. */
  readonly hasOwnUsers: boolean;
}

/** Reads what the environment refers to and writes the container as the runtime wants it. */
export async function containerConfig(
  deps: ContainerConfigDeps,
  pod: Pod,
  container: Container,
  life: ContainerLifeFacts,
): Promise<ContainerConfig> {
  const { namespace = '' } = pod.metadata;
  const data = new Map<string, Readonly<Record<string, string>>>();
  for (const reference of environmentReferences(container)) {
    const found = await deps.texts.read(namespace, reference);
    if (found !== undefined) data.set(reference, found);
  }
  const { allocatable, hostIp } = deps;
  const links = await serviceLinks(deps, pod);
  const { podIp, morePodIps } = life;
  const environment = buildEnvironment(container, { pod, podIp, morePodIps, hostIp, allocatable, data, links });
  const separation = separationOf(deps, pod, container, life);
  const volumes = await deps.volumes?.(environment);
  return {
    name: container.name,
    image: container.image ?? '',
    command: expandAll(container.command ?? [], environment),
    args: expandAll(container.args ?? [], environment),
    env: { ...environment, ...volumes?.environment },
    ...separation,
    ...(volumes === undefined || volumes.mounts.length === 0 ? {} : { mounts: volumes.mounts }),
    ...(volumes?.devices === undefined || volumes.devices.length === 0 ? {} : { devices: volumes.devices }),
    ...(container.workingDir === undefined || container.workingDir === '' ? {} : { workingDir: container.workingDir }),
    ...(container.stdin === true ? { stdin: true, stdinOnce: container.stdinOnce === true } : {}),
    ...(container.tty === true ? { tty: true } : {}),
    restartCount: life.restartCount,
  };
}

/** Returns the user and, when the runtime isolates pods from the machine, all other isolation settings. */
function separationOf(
  { abilities, allocatable }: ContainerConfigDeps,
  pod: Pod,
  container: Container,
  { image, target, hasOwnUsers }: ContainerLifeFacts,
): Pick<ContainerConfig, 'user' | 'isolation' | 'imageId' | 'privileged'> {
  if (abilities === undefined) return {};
  refuseForeignIds(pod, container, hasOwnUsers || pod.spec.hostUsers === false);
  if (abilities.isolation === true) {
    const isolation = containerIsolation(pod, container, { image, target, nodeMemory: allocatable['memory'] ?? '0' });
    return image === undefined ? { isolation } : { isolation, imageId: image.id };
  }
  const user = containerUser(pod, container, abilities, hasOwnUsers);
  const privileged = container.securityContext?.privileged === true ? ({ privileged: true } as const) : {};
  return user === undefined ? privileged : { user, ...privileged };
}

/** A simulated runtime has no processes that read them. */
async function serviceLinks(deps: ContainerConfigDeps, pod: Pod): Promise<Record<string, string>> {
  if (deps.abilities === undefined) return {};
  const { spec, metadata } = pod;
  return serviceVariables(await deps.services(pod), metadata.namespace ?? '', spec.enableServiceLinks !== false);
}
