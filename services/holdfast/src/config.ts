import { isIP } from 'node:net';
import { FEATURE_GATES_SETTING, type Features, readFeatures } from '@holdfast/api/features';
import { ALLOW_PRIVILEGED_SETTING } from '@holdfast/apiserver/allow-privileged-setting';
import { AUDIT_SETTINGS, type AuditConfig, readAuditConfig } from '@holdfast/apiserver/audit-settings';
import { DEFAULT_STORAGE_CLASS_SETTING } from '@holdfast/apiserver/default-storage-class-setting';
import { ENCRYPTION_SETTING } from '@holdfast/apiserver/encryption-setting';
import { type HistoryConfig, historySettings, readHistoryConfig } from '@holdfast/apiserver/history-settings';
import { OPTIONAL_PLUGINS_SETTING, type OptionalPlugin } from '@holdfast/apiserver/optional-plugins-setting';
import { NODE_MONITOR_GRACE_SETTING } from '@holdfast/client/node-monitor-grace';
import {
  CSI_DRIVERS_HELP,
  type CsiDriverAddress,
  readCsiDrivers,
} from '@holdfast/controller-manager/csi-drivers-setting';
import { LOG_LEVEL_SETTING, type LogLevel, TRACING_SETTING } from '@holdfast/platform';
import { type BusAddress, readBusAddress } from '@holdfast/platform/bus-address';
import { badSetting, readSettings, type SettingSource, type SettingSpecs } from '@holdfast/platform/config';
import { readStoreAddress } from '@holdfast/platform/store-address';
import { STORE_LIMIT_SETTING } from '@holdfast/platform/store-limit';
import {
  BUS_TLS_SETTINGS,
  readBusTls,
  readStoreTls,
  STORE_TLS_SETTINGS,
  type TlsClient,
} from '@holdfast/platform/tls-client';
import { CLOCK_SETTING, type ClockKind, readTimed } from './clock-setting.ts';

const NODES_MAX = 50;
const HOLLOW_NODES_MAX = 10_000;

const OPTIONAL_PARTS = ['scheduler', 'controllers', 'console', 'proxy'] as const;

export const START_SETTINGS = {
  port: { kind: 'integer', help: 'Port of the API; 0 takes a free one', default: 6443, min: 0, max: 65_535 },
  host: { kind: 'string', help: 'Address to listen on', default: '127.0.0.1' },
  'data-dir': { kind: 'string', help: 'Directory of data, certificates and kubeconfig', default: '.holdfast' },
  memory: { kind: 'boolean', help: 'Keep objects in memory; write only the kubeconfig and files of pods to disk' },
  store: {
    kind: 'string',
    help: 'Use this Redis (redis://host:port, rediss://host:port for TLS) instead of the data directory',
  },
  bus: {
    kind: 'string',
    help: 'Use this NATS server (nats://host:port, nats://user:password@host:port, tls:// for TLS) instead of the bus of this process',
  },
  ...STORE_TLS_SETTINGS,
  ...BUS_TLS_SETTINGS,
  'store-limit-mb': STORE_LIMIT_SETTING,
  'allow-unsafe-store': { kind: 'boolean', help: 'Accept a Redis that may lose acknowledged writes' },
  from: { kind: 'file', help: 'A backup or a snapshot with which a new cluster begins' },
  nodes: {
    kind: 'integer',
    help: 'Nodes that run pods as processes of this machine; default: 1, and none with --clock=virtual',
    min: 0,
    max: NODES_MAX,
  },
  runtime: {
    kind: 'enum',
    values: ['auto', 'process', 'docker', 'cri'],
    help: 'What runs the pods of all nodes; auto: containerd or Docker where they answer, else processes, chosen once for a data directory; default: processes, or cri with an endpoint',
  },
  'container-runtime-endpoint': {
    kind: 'string',
    help: 'Socket of the container runtime; default: unix:///run/containerd/containerd.sock for cri, unix:///var/run/docker.sock for docker',
  },
  'pod-infra-container-image': {
    kind: 'string',
    help: 'Image of the sandboxes of pods in a Docker engine; default: a tiny one that the node makes itself',
  },
  'cni-conf-dir': {
    kind: 'string',
    help: 'Directory of network configurations of the container runtime, such as /etc/cni/net.d: ours is written there when there is no other, and removed at the stop; for cri',
  },
  'cluster-dns': {
    kind: 'list',
    help: 'Addresses of DNS servers for service names; none: no DNS; default: this process, for containers where it routes services',
  },
  'pod-network': {
    kind: 'enum',
    values: ['auto', 'host', 'private'],
    help: 'Network of process pods: host = they share that of this machine; private = each has an address of its own; auto = private where this user can make namespaces',
    default: 'auto',
  },
  'cluster-cidr': {
    kind: 'string',
    help: 'Addresses of pods with --pod-network=private or --cni-conf-dir',
    default: '10.244.0.0/16',
  },
  'node-cidr-mask-size': { kind: 'integer', help: 'Mask of the networks of nodes in it', default: 24, min: 8, max: 30 },
  expose: {
    kind: 'string',
    help: 'Address of this machine at which node ports are open, such as 127.0.0.1; none = load balancers get no address either; default: load balancers at loopback addresses alone',
  },
  'csi-drivers': { kind: 'list', help: CSI_DRIVERS_HELP, default: [] },
  'hollow-nodes': {
    kind: 'integer',
    help: 'Nodes with simulated pods; default: none, and 3 with --clock=virtual',
    min: 0,
    max: HOLLOW_NODES_MAX,
  },
  without: { kind: 'list', values: OPTIONAL_PARTS, help: 'Parts to omit, to run your own', default: [] },
  'default-storage-class': {
    kind: 'enum',
    values: DEFAULT_STORAGE_CLASS_SETTING.values,
    help: `${DEFAULT_STORAGE_CLASS_SETTING.help}; default: standard when the cluster starts with process nodes, else none`,
  },
  'allow-privileged': ALLOW_PRIVILEGED_SETTING,
  'enable-admission-plugins': OPTIONAL_PLUGINS_SETTING,
  'node-monitor-grace-seconds': NODE_MONITOR_GRACE_SETTING,
  'scheduler-config': { kind: 'file', help: 'KubeSchedulerConfiguration of the scheduler, a YAML or JSON file' },
  'scheduler-status-address': {
    kind: 'string',
    help: 'host:port of /metrics and /debug/cache of the scheduler over HTTPS, for authorized callers',
  },
  ...historySettings('1h'),
  ...AUDIT_SETTINGS,
  'encryption-provider-config': ENCRYPTION_SETTING,
  'feature-gates': FEATURE_GATES_SETTING,
  'tracing-endpoint': TRACING_SETTING,
  play: {
    kind: 'boolean',
    help: 'Let administrators cut wires, kill and pause components: for tries and demonstrations',
  },
  clock: CLOCK_SETTING,
  json: { kind: 'boolean', help: 'Print progress as JSON lines' },
  'log-level': { ...LOG_LEVEL_SETTING, default: 'error' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

export type OptionalPart = (typeof OPTIONAL_PARTS)[number];

export interface StartConfig {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly store:
    | { readonly kind: 'memory' }
    | { readonly kind: 'sqlite' }
    | { readonly kind: 'redis'; readonly url: string; readonly tls: TlsClient | undefined };
  /** A NATS server; absent for the in-process bus. */
  readonly bus: BusAddress | undefined;
  readonly busTls: TlsClient | undefined;
  readonly allowUnsafeStore: boolean;
  /** Default: derived from the heap size. */
  readonly storeLimitMb: number | undefined;
  /** Objects with which a new cluster begins. */
  readonly from: string | undefined;
  readonly nodes: number;
  /** Absent: processes of this machine, or a CRI runtime where there is an endpoint. */
  readonly runtime: 'auto' | 'process' | 'docker' | 'cri' | undefined;
  /** Absent: the usual one of the runtime. */
  readonly runtimeEndpoint: string | undefined;
  readonly sandboxImage: string | undefined;
  /** Absent: others configure the network of containers. */
  readonly cniDirectory: string | undefined;
  /** Absent: this process serves DNS, when pods are processes of this machine. */
  readonly clusterDns: readonly string[] | undefined;
  readonly podNetwork: 'auto' | 'host' | 'private';
  /** Of pods with addresses of their own. */
  readonly clusterCidr: string;
  readonly nodeCidrMaskSize: number;
  /** The address of node ports. Absent: load balancers alone; `none`: neither. */
  readonly expose: string | undefined;
  readonly csiDrivers: readonly CsiDriverAddress[];
  readonly hollowNodes: number;
  readonly without: ReadonlySet<OptionalPart>;
  /** True: a new cluster gets one. */
  readonly defaultStorageClass: boolean;
  readonly allowPrivileged: boolean;
  readonly optionalPlugins: ReadonlySet<OptionalPlugin>;
  readonly nodeMonitorGraceSeconds: number;
  readonly schedulerConfig: string | undefined;
  readonly schedulerStatusAddress: string | undefined;
  /** Absent: no history is kept. */
  readonly history: HistoryConfig | undefined;
  /** Absent: no audit. */
  readonly audit: AuditConfig | undefined;
  /** Absent: objects are stored in clear text. */
  readonly encryptionFile: string | undefined;
  readonly features: Features;
  readonly tracingEndpoint: string | undefined;
  /** Administrators may play faults. */
  readonly play: boolean;
  /** `virtual`: time passes only when administrators let it pass. */
  readonly clock: ClockKind;
  readonly json: boolean;
  readonly logLevel: LogLevel;
  readonly help: boolean;
}

export function readStartConfig(source: SettingSource): StartConfig {
  const settings = readSettings(START_SETTINGS, source);
  if (settings.memory && settings.store !== undefined) {
    throw badSetting('--memory and --store exclude each other', 'Leave one of them out.');
  }
  const { nodes, hollowNodes, memory } = readTimed(settings);
  return {
    port: settings.port,
    host: settings.host,
    dataDir: settings['data-dir'],
    store: storeOf({ ...settings, memory }),
    bus: settings.bus === undefined ? undefined : readBusAddress(settings.bus),
    busTls: readBusTls(settings),
    allowUnsafeStore: settings['allow-unsafe-store'],
    storeLimitMb: settings['store-limit-mb'],
    from: settings.from,
    nodes,
    runtime: settings.runtime,
    runtimeEndpoint: settings['container-runtime-endpoint'],
    sandboxImage: settings['pod-infra-container-image'],
    cniDirectory: settings['cni-conf-dir'],
    clusterDns: addressesOf(settings['cluster-dns']),
    podNetwork: settings['pod-network'],
    clusterCidr: settings['cluster-cidr'],
    nodeCidrMaskSize: settings['node-cidr-mask-size'],
    expose: exposeOf(settings.expose),
    csiDrivers: readCsiDrivers(settings['csi-drivers']),
    hollowNodes,
    without: new Set(settings.without),
    defaultStorageClass: (settings['default-storage-class'] ?? (nodes > 0 ? 'standard' : 'none')) === 'standard',
    allowPrivileged: settings['allow-privileged'],
    optionalPlugins: new Set(settings['enable-admission-plugins']),
    nodeMonitorGraceSeconds: settings['node-monitor-grace-seconds'],
    schedulerConfig: settings['scheduler-config'],
    schedulerStatusAddress: settings['scheduler-status-address'],
    history: readHistoryConfig(settings),
    audit: readAuditConfig(settings),
    encryptionFile: settings['encryption-provider-config'],
    features: readFeatures(settings['feature-gates']),
    tracingEndpoint: settings['tracing-endpoint'],
    play: settings.play,
    clock: settings.clock,
    json: settings.json,
    logLevel: settings['log-level'],
    help: settings.help,
  };
}

function addressesOf(given: readonly string[] | undefined): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const addresses = given.filter((each) => each !== 'none');
  const wrong = addresses.find((each) => isIP(each) === 0);
  if (wrong === undefined) return addresses;
  throw badSetting(`--cluster-dns takes IP addresses, not "${wrong}"`);
}

function exposeOf(given: string | undefined): string | undefined {
  if (given === undefined || given === 'none' || isIP(given) !== 0) return given;
  throw badSetting(`--expose takes an IP address of this machine or none, not "${given}"`);
}

function storeOf(settings: { memory: boolean } & Parameters<typeof readStoreTls>[0]): StartConfig['store'] {
  const tls = readStoreTls(settings);
  const url = settings.store;
  if (url !== undefined) {
    return { kind: 'redis', url: readStoreAddress(url, 'redis://host:port or rediss://host:port'), tls };
  }
  return settings.memory ? { kind: 'memory' } : { kind: 'sqlite' };
}
