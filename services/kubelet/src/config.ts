import { hostname } from 'node:os';
import { FEATURE_GATES_SETTING, readFeatures, type SelfFencingPolicy, type Taint } from '@holdfast/api';
import { COMPONENT_SETTINGS, type ComponentSettings } from '@holdfast/client/component-config';
import { setOwn } from '@holdfast/machinery';
import { type LogLevel, OperatorError } from '@holdfast/platform';
import { readSettings, requireSettings, type SettingSource } from '@holdfast/platform/config';
import type { ClusterDns } from './domain/network-identity.ts';
import { type UserRangePool, userRangePool } from './domain/user-ranges.ts';
import { evictionFlags, PRESSURE_SETTINGS, readAmounts, readTaints } from './eviction/flags.ts';
import { type EvictionConfig, readEvictionConfig } from './eviction/thresholds.ts';
import { GARBAGE_SETTINGS, type GarbagePolicy, readGarbagePolicy } from './garbage/policy.ts';
import { KUBELET_PORT_DEFAULT, MAX_PODS_PER_NODE } from './limits.ts';
import { LOG_SETTINGS, readLogFlags } from './runtime/log-flags.ts';
import type { LogLimits } from './runtime/log-limits.ts';
import { PROMISE_SECONDS, PROMISE_SECONDS_MAX } from './self-fencing/limits.ts';
import { readShutdownPeriods, type ShutdownPeriod } from './shutdown/plan.ts';

export const KUBELET_SETTINGS = {
  ...COMPONENT_SETTINGS,
  'node-name': { kind: 'string', help: 'name of this node; default: the host name' },
  'node-labels': { kind: 'string', help: 'labels of the node: key=value, separated by commas' },
  'state-dir': { kind: 'string', help: 'directory for data that outlive this process: container records and logs' },
  runtime: {
    kind: 'enum',
    values: ['process', 'docker', 'cri'],
    help: 'what runs the pods; default: processes of this machine, or cri with an endpoint',
  },
  'container-runtime-endpoint': {
    kind: 'string',
    help: 'socket of the container runtime; default: unix:///run/containerd/containerd.sock for cri, unix:///var/run/docker.sock for docker',
  },
  'pod-infra-container-image': {
    kind: 'string',
    help: 'image of the sandboxes of pods in a Docker engine; default: a tiny one that the node makes itself',
  },
  'cni-conf-dir': {
    kind: 'string',
    help: 'directory of network configurations of the container runtime, such as /etc/cni/net.d: ours is written there when there is no other; for cri',
  },
  'pod-manifest-path': { kind: 'string', help: 'directory with files of static pods' },
  'cluster-dns': { kind: 'list', help: 'addresses of DNS servers for service names', default: [] },
  'cluster-domain': { kind: 'string', help: 'DNS suffix of service names', default: 'cluster.local' },
  host: { kind: 'string', help: 'listen address of this node for API servers', default: '0.0.0.0' },
  port: {
    kind: 'integer',
    help: 'port for the API servers; 0 takes a free one',
    default: KUBELET_PORT_DEFAULT,
    min: 0,
    max: 65_535,
  },
  'tls-cert-file': {
    kind: 'file',
    help: 'PEM certificate of this node, with its name; absent = no port, and no logs or exec through the API',
  },
  'tls-key-file': { kind: 'file', help: 'PEM key of that certificate' },
  'client-ca-file': {
    kind: 'file',
    help: "PEM of the authority of the API servers' client certificates; default: ca-file",
  },
  'nodes-on-machine': {
    kind: 'integer',
    help: 'number of nodes that share this machine or its container runtime; each offers an equal part of it to pods',
    default: 1,
    min: 1,
    max: 1_000,
  },
  'log-directory': {
    kind: 'string',
    help: 'directory of the machine that the API shows below nodes/NAME/proxy/logs/; empty = none',
    default: '/var/log',
  },
  'max-pods': { kind: 'integer', help: 'maximum number of pods on the node', default: MAX_PODS_PER_NODE, min: 1 },
  ...LOG_SETTINGS,
  ...PRESSURE_SETTINGS,
  ...GARBAGE_SETTINGS,
  'self-fencing': {
    kind: 'enum',
    values: ['exclusive', 'all', 'off'],
    help: 'pods that a watchdog ends when the API acknowledges no heartbeat for --self-fencing-seconds, so that they can run elsewhere; exclusive: those of StatefulSets and those with claims; off for container runtimes where the kernel cannot kill a control group',
    default: 'exclusive',
  },
  'self-fencing-seconds': {
    kind: 'integer',
    help: 'how long the API may be silent before the watchdog ends pods; they run elsewhere about 3 s later. Longer than the store needs to elect a leader: 11 for a log in three zones',
    default: PROMISE_SECONDS,
    min: PROMISE_SECONDS,
    max: PROMISE_SECONDS_MAX,
  },
  'watchdog-device': {
    kind: 'string',
    help: 'watchdog device of this machine, /dev/watchdog: it resets the machine when exclusive pods cannot be ended; its time-out must be 1 s longer than --self-fencing-seconds',
  },
  config: { kind: 'file', help: 'KubeletConfiguration, a YAML or JSON file; flags and variables override it' },
  'feature-gates': FEATURE_GATES_SETTING,
  help: { kind: 'boolean', help: 'print the settings and exit' },
} as const;

export interface KubeletConfig {
  readonly component: ComponentSettings;
  readonly nodeName: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly stateDirectory: string;
  readonly runtime: 'process' | 'docker' | 'cri';
  /** Absent: the usual one of the runtime. */
  readonly runtimeEndpoint: string | undefined;
  readonly sandboxImage: string | undefined;
  /** Absent: others configure the network of containers. */
  readonly cniDirectory: string | undefined;
  /** Absent: this node has no static pods. */
  readonly staticPodPath: string | undefined;
  readonly dns: ClusterDns;
  /** Absent: this node has no port. */
  readonly server: ServerConfig | undefined;
  readonly maxPods: number;
  /** Nodes that share the machine, this one among them. */
  readonly nodesOnMachine: number;
  /** Shown below `/logs`; '' = nothing is. */
  readonly logDirectory: string;
  readonly taints: readonly Taint[];
  /** Resources that are not allocatable to pods. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
  readonly eviction: EvictionConfig;
  readonly garbage: GarbagePolicy;
  readonly shutdownPeriods: readonly ShutdownPeriod[];
  /** Absent: UserNamespacesSupport is off. */
  readonly userRanges: UserRangePool | undefined;
  /** Absent: the node promises nothing. */
  readonly selfFencing: SelfFencingPolicy | undefined;
  /** How long a promise holds after the last renewal. */
  readonly selfFencingSeconds: number;
  /** Absent: only processes keep the promise. */
  readonly watchdogDevice: string | undefined;
  readonly logs: LogLimits;
  readonly logLevel: LogLevel;
}

/** `undefined` for `--help`. A program that is more than a kubelet has more settings. */
export function readKubeletConfig(
  source: SettingSource,
  specs: typeof KUBELET_SETTINGS = KUBELET_SETTINGS,
): KubeletConfig | undefined {
  const settings = readSettings(specs, source);
  if (settings.help) return undefined;
  const needed = requireSettings<typeof KUBELET_SETTINGS, 'state-dir'>(settings, ['state-dir']);
  return {
    component: settings,
    nodeName: (settings['node-name'] ?? hostname()).toLowerCase(),
    nodeLabels: readLabels(settings['node-labels'] ?? ''),
    stateDirectory: needed['state-dir'],
    runtime: settings.runtime ?? (settings['container-runtime-endpoint'] === undefined ? 'process' : 'cri'),
    runtimeEndpoint: settings['container-runtime-endpoint'],
    sandboxImage: settings['pod-infra-container-image'],
    cniDirectory: settings['cni-conf-dir'],
    staticPodPath: settings['pod-manifest-path'],
    dns: {
      domain: settings['cluster-domain'],
      servers: settings['cluster-dns'],
    },
    server: readServer(settings),
    maxPods: settings['max-pods'],
    nodesOnMachine: settings['nodes-on-machine'],
    logDirectory: settings['log-directory'],
    taints: readTaints(settings['register-with-taints'] ?? ''),
    reserved: (['system-reserved', 'kube-reserved'] as const).map((flag) => readAmounts(flag, settings[flag])),
    eviction: readEvictionConfig(evictionFlags(settings)),
    garbage: readGarbagePolicy(settings),
    shutdownPeriods: readShutdownPeriods({
      gracePeriodMs: settings['shutdown-grace-period'],
      criticalPodsMs: settings['shutdown-grace-period-critical-pods'],
      gracePeriodByPodPriority: settings['shutdown-grace-period-by-pod-priority'],
    }),
    userRanges: readFeatures(settings['feature-gates']).userNamespacesSupport ? userRangePool() : undefined,
    selfFencing: settings['self-fencing'] === 'off' ? undefined : settings['self-fencing'],
    selfFencingSeconds: settings['self-fencing-seconds'],
    watchdogDevice: settings['watchdog-device'],
    logs: readLogFlags(settings),
    logLevel: settings['log-level'],
  };
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string;
}

function readServer(settings: {
  readonly host: string;
  readonly port: number;
  readonly 'tls-cert-file': string | undefined;
  readonly 'tls-key-file': string | undefined;
  readonly 'client-ca-file': string | undefined;
  readonly 'ca-file': string | undefined;
}): ServerConfig | undefined {
  const { host, port, 'tls-cert-file': certFile, 'tls-key-file': keyFile } = settings;
  if (certFile === undefined) return undefined;
  const clientCaFile = settings['client-ca-file'] ?? settings['ca-file'];
  if (keyFile !== undefined && clientCaFile !== undefined) return { host, port, certFile, keyFile, clientCaFile };
  throw new OperatorError({
    code: 'BadSetting',
    message: '--tls-cert-file needs --tls-key-file, and --client-ca-file or --ca-file',
    nextStep: 'Name the files of the key and of the authority, or leave the certificate out.',
    exitCode: 2,
  });
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [key = '', value] = part.trim().split('=', 2);
    if (key === '' || value === undefined) {
      throw new OperatorError({
        code: 'BadSetting',
        message: `--node-labels takes key=value pairs separated by commas, not "${part}"`,
        nextStep: 'Write for example --node-labels=topology.kubernetes.io/zone=a,disk=ssd.',
        exitCode: 2,
      });
    }
    setOwn(labels, key, value);
  }
  return labels;
}
