import type { ContainerUsage, RuntimeHealth } from '../port.ts';
import type { CriConnection } from './connection.ts';
import { containerNameOf, podUidOf, selectorOf } from './labels.ts';
import { QUICK_DEADLINE_MS } from './limits.ts';

export async function readVersion(connection: CriConnection): Promise<string> {
  const { runtimeName, runtimeVersion } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, (clients, options) =>
    clients.runtime.version({}, options),
  );
  return `${runtimeName}://${runtimeVersion}`;
}

/** The two conditions that a runtime must meet, in Kubernetes' words. */
export async function readHealth(connection: CriConnection): Promise<RuntimeHealth> {
  const { status } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, (clients, options) =>
    clients.runtime.status({}, options),
  );
  const fault = (type: string): string | undefined => {
    const condition = status?.conditions.find((each) => each.type === type);
    if (condition?.status === true) return undefined;
    return `${type}=false reason:${condition?.reason ?? 'Unknown'} message:${condition?.message ?? ''}`;
  };
  const [runtime, network] = [fault('RuntimeReady'), fault('NetworkReady')];
  return {
    ...(runtime === undefined ? {} : { runtimeFault: `container runtime not ready: ${runtime}` }),
    ...(network === undefined ? {} : { networkFault: `container runtime network not ready: ${network}` }),
  };
}

/** Called for each pod that needs it, at a low rate: a newer runtime may support it. */
export async function readUserNamespaceRefusal(
  connection: CriConnection,
  handler: string,
): Promise<string | undefined> {
  const { runtimeHandlers } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, (clients, options) =>
    clients.runtime.status({}, options),
  );
  return userNamespaceRefusal(runtimeHandlers, handler);
}

interface Handler {
  readonly name: string;
  readonly features?: { readonly userNamespaces: boolean } | undefined;
}

/** A runtime that reports no handlers is older than the feature: it would run the pod with the machine's users. */
export function userNamespaceRefusal(handlers: readonly Handler[], handler: string): string | undefined {
  if (handlers.length === 0)
    return 'the container runtime does not report support for user namespaces (containerd 2.0 and CRI-O 1.25 or later do)';
  const found = handlers.find(({ name }) => name === handler);
  if (found === undefined) return `the handler ${JSON.stringify(handler)} is not known to the container runtime`;
  return found.features?.userNamespaces === true
    ? undefined
    : `RuntimeClass handler ${JSON.stringify(handler)} does not support user namespaces`;
}

const NANOSECONDS_PER_MS = 1_000_000n;

export async function readUsage(connection: CriConnection, node: string): Promise<readonly ContainerUsage[]> {
  const filter = { labelSelector: selectorOf(node, undefined) };
  const { stats } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, (clients, options) =>
    clients.runtime.listContainerStats({ filter }, options),
  );
  return stats.map(({ attributes, cpu, memory }) => ({
    podUid: podUidOf(attributes?.labels ?? {}),
    container: containerNameOf(attributes?.labels ?? {}),
    at: Number((cpu?.timestamp ?? 0n) / NANOSECONDS_PER_MS),
    cpuNanoseconds: Number(cpu?.usageCoreNanoSeconds?.value ?? 0n),
    memoryBytes: Number(memory?.workingSetBytes?.value ?? 0n),
  }));
}

/** Resolves with the reason why this runtime cannot be given the control group of a pod; undefined: it can. */
export async function readGroupsRefusal(connection: CriConnection): Promise<string | undefined> {
  const { info } = await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, (clients, options) =>
    clients.runtime.status({ verbose: true }, options),
  );
  return groupsRefusal(info['config']);
}

/** Units of systemd have other names than control groups. */
export function groupsRefusal(configuration: string | undefined): string | undefined {
  const options = runtimeOptions(configuration);
  if (options === undefined) return 'the container runtime does not report its cgroup driver';
  return options.some(({ SystemdCgroup }) => SystemdCgroup === true)
    ? 'the container runtime uses the cgroup driver systemd; self-fencing needs cgroupfs'
    : undefined;
}

interface RuntimeOptions {
  readonly SystemdCgroup?: boolean;
}

function runtimeOptions(configuration: string | undefined): readonly RuntimeOptions[] | undefined {
  if (configuration === undefined) return undefined;
  const { containerd, systemdCgroup } = JSON.parse(configuration) as {
    readonly systemdCgroup?: boolean;
    readonly containerd?: {
      readonly runtimes?: Readonly<Record<string, { readonly options?: RuntimeOptions | null }>>;
    };
  };
  if (containerd?.runtimes === undefined) return undefined;
  const each = Object.values(containerd.runtimes).map(({ options }) => options ?? {});
  return [...each, { SystemdCgroup: systemdCgroup === true }];
}
