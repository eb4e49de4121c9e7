export { createCniDirectory } from './adapters/cni-directory.ts';
export { boundRecord, readIncarnation } from './adapters/incarnation.ts';
export { machineAddress, readMachineFacts } from './adapters/machine-facts.ts';
export { createMachineProbe } from './adapters/machine-probe.ts';
export { createNodeLogDirectory } from './adapters/node-log-directory.ts';
export { createNodeVolumeDirectories } from './adapters/node-volume-directories.ts';
export { createProbeNetwork, type Dial } from './adapters/probe-network.ts';
export { createStaticPodDirectory } from './adapters/static-pod-directory.ts';
export { createKubelet, type Kubelet, type KubeletDeps } from './app.ts';
export { HOLLOW_PROBE_NETWORK, type ProbeNetwork } from './container/probe-network.ts';
export { isolationCaution } from './domain/isolation-caution.ts';
export { type ClusterDns, NO_CLUSTER_DNS } from './domain/network-identity.ts';
export type { NodeFacts } from './domain/node-status.ts';
export { userRangePool } from './domain/user-ranges.ts';
export { DEFAULT_EVICTION_FLAGS, readEvictionConfig } from './eviction/thresholds.ts';
export { DEFAULT_GARBAGE_POLICY } from './garbage/policy.ts';
export { hollowNodeFacts } from './node/hollow-facts.ts';
export { NodeAddress } from './node/node-address.ts';
export type { BoundIncarnation } from './node/node-agent.ts';
export {
  type ContainerRuntime,
  RuntimeError,
  type RuntimeErrorCode,
  type SandboxStatus,
} from './runtime/port.ts';
export type { LogRequest } from './server/pod-logs.ts';
