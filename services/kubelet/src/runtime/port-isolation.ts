/**
 * A pod's requests to a runtime that isolates pods from the machine and from each other. They use the runtime's terms:
 * quantities are numbers, and defaults are applied. Only passed to a runtime with `abilities.isolation`.
 */
export interface SandboxIsolation {
  readonly ports: readonly PortMapping[];
  readonly namespaces: SandboxNamespaces;
  readonly sysctls: Readonly<Record<string, string>>;
  /** One of its containers is privileged. */
  readonly privileged: boolean;
  readonly user?: number;
  readonly group?: number;
  readonly supplementalGroups: readonly number[];
  readonly seccomp?: SecurityProfile;
  /** Named configuration of the runtime (`RuntimeClass`). */
  readonly handler?: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface SandboxNamespaces {
  readonly network: 'pod' | 'node';
  readonly ipc: 'pod' | 'node';
  /** `container`: each has its own. */
  readonly pid: 'pod' | 'container' | 'node';
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  /** For `Localhost`: a file below the node's profiles (seccomp), or a name (AppArmor). */
  readonly reference: string;
}

export interface ContainerIsolation {
  readonly resources: ContainerResources;
  readonly security: ContainerSecurity;
}

/** 0 or absent: no limit. */
export interface ContainerResources {
  readonly cpuShares: number;
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryLimitBytes?: number;
  /** The kernel's kill order when memory runs out: higher values first. */
  readonly oomScoreAdjust: number;
  readonly hugepages?: readonly { readonly pageSize: string; readonly limitBytes: number }[];
}

export interface ContainerSecurity {
  readonly privileged: boolean;
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  /** Absent: the user of the image. */
  readonly user?: number;
  readonly userName?: string;
  /** Never without a user. */
  readonly group?: number;
  readonly supplementalGroups: readonly number[];
  readonly readOnlyRoot: boolean;
  readonly noNewPrivileges: boolean;
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
  readonly seLinux?: { readonly user: string; readonly role: string; readonly type: string; readonly level: string };
  /** Kernel paths are neither hidden nor read-only (`procMount: Unmasked`). */
  readonly unmasked: boolean;
  /** Runs in the process namespace of this container (`targetContainerName` of ephemeral containers). */
  readonly processesOf?: string;
}
