import type { Container, Pod } from '@holdfast/api';
import type { PortMapping, SandboxIsolation, SandboxNamespaces } from '../runtime/port-isolation.ts';
import { allContainers } from './records.ts';

/** Returns a pod's requests to an isolating runtime. */
export function sandboxIsolation(pod: Pod, handler: string | undefined): SandboxIsolation {
  const { spec, metadata } = pod;
  const { runAsUser, runAsGroup, sysctls = [] } = spec.securityContext ?? {};
  return {
    ports: spec.hostNetwork === true ? [] : allContainers(pod).flatMap(hostPorts),
    namespaces: namespacesOf(pod),
    sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [name, value])),
    privileged: allContainers(pod).some(({ securityContext }) => securityContext?.privileged === true),
    supplementalGroups: supplementalGroups(pod),
    seccomp: { type: 'RuntimeDefault', reference: '' },
    annotations: metadata.annotations ?? {},
    ...(runAsUser === undefined ? {} : { user: runAsUser }),
    ...(runAsGroup === undefined ? {} : { group: runAsGroup }),
    ...(handler === undefined ? {} : { handler }),
  };
}

/** Groups of every process of the pod, beside the groups of its user. */
export function supplementalGroups({ spec }: Pod): readonly number[] {
  const { fsGroup, supplementalGroups: groups = [] } = spec.securityContext ?? {};
  return fsGroup === undefined ? groups : [...groups, fsGroup];
}

function namespacesOf({ spec }: Pod): SandboxNamespaces {
  return {
    network: spec.hostNetwork === true ? 'node' : 'pod',
    ipc: spec.hostIPC === true ? 'node' : 'pod',
    pid: spec.hostPID === true ? 'node' : spec.shareProcessNamespace === true ? 'pod' : 'container',
  };
}

function hostPorts({ ports = [] }: Container): readonly PortMapping[] {
  return ports
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ protocol = 'TCP', containerPort, hostPort = 0, hostIP = '' }) => ({
      protocol: protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP',
      containerPort,
      hostPort,
      hostIp: hostIP,
    }));
}

/** Sysctls that a pod may set without harm to other pods of the node. */
const SAFE_SYSCTLS = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
]);

export function forbiddenSysctl({ spec }: Pod): string | undefined {
  const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name.replaceAll('/', '.'));
  return names.find((name) => !SAFE_SYSCTLS.has(name));
}
