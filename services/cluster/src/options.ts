import { DEFAULT_FEATURES, type Features } from '@holdfast/api';
import { POD_SCRIPT_FORMS, readPodScript } from '@holdfast/kubelet/hollow-runtime';
import { type LogLevel, OperatorError } from '@holdfast/platform';

/** Everything is optional. */
export interface StartOptions extends ClusterOptions {
  /** A snapshot file to continue from. The other options replace those of its cluster. */
  readonly from?: string;
}

/** Everything is optional. Without options: a control plane in memory, on real time, without nodes. */
export interface ClusterOptions {
  /** Nodes that simulate their pods. A number, or what is special about each. */
  readonly hollowNodes?: number | readonly HollowNodeOptions[];
  /**
   * Nodes whose pods are processes of this machine, which end with the cluster. A number, or what is special about each. Only on real time, and
   * without snapshots.
   */
  readonly processNodes?: number | readonly ProcessNodeOptions[];
  /** `memory`, or the directory of a SQLite store that survives the process. Default: memory. */
  readonly store?: 'memory' | { readonly sqlite: string };
  /** `virtual`: time stands still until `advance`. Default: real. */
  readonly clock?: 'real' | 'virtual';
  /**
   * What containers on hollow nodes do, for pods with these labels; the first that fits counts. A pod with the annotation `holdfast.io/script` does
   * what that says.
   */
  readonly scripts?: readonly PodScript[];
  /** Makes uids, generated names and random choices repeatable. Default on virtual time: 1. */
  readonly seed?: number;
  readonly features?: Partial<Features>;
  /**
   * Present: clients of other processes reach the cluster, and `kubeconfig` is known. Port 0 takes a free one. The host is an address of loopback;
   * default: 127.0.0.1.
   */
  readonly https?: boolean | { readonly port?: number; readonly host?: LoopbackHost };
  /** Parts to omit, to run your own. */
  readonly without?: readonly OptionalPart[];
  /** Which controllers run, as `--controllers` of the controller manager takes them: `*`, `name`, `-name`. Default: `*`. */
  readonly controllers?: readonly string[];
  /** Default: 40, as in Kubernetes. */
  readonly nodeMonitorGraceSeconds?: number;
  /** IPv4 network of the addresses of services. Default: 10.96.0.0/12. */
  readonly serviceNetwork?: string;
  /** Only on virtual time: `advance` waits until clients of other processes were quiet for this real time. Default: 10. */
  readonly settleMs?: number;
  /** Receives the log lines of the components. */
  readonly onLog?: (line: LogLine) => void;
}

export interface HollowNodeOptions {
  /** Default: `hollow-1`, `hollow-2`, ... */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: 32 CPUs, 256Gi of memory, 110 pods. */
  readonly capacity?: Readonly<Record<string, string>>;
}

export interface ProcessNodeOptions {
  /** Default: `process-1`, `process-2`, ... */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface PodScript {
  /** Default: all namespaces. */
  readonly namespace?: string;
  /** Default: all pods. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Parts such as `runs 3s then exits 1`, `ready after 2s` and `takes 10s to stop`, separated by commas. */
  readonly script: string;
}

export type OptionalPart = (typeof OPTIONAL_PARTS)[number];

export interface LogLine {
  readonly level: Exclude<LogLevel, 'silent'>;
  readonly component: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The same, complete and checked. */
export interface ClusterConfig {
  readonly hollowNodes: readonly Required<HollowNodeOptions>[];
  readonly processNodes: readonly Required<ProcessNodeOptions>[];
  /** Absent: in memory. */
  readonly sqlite: string | undefined;
  readonly isVirtual: boolean;
  readonly scripts: readonly PodScript[];
  /** Absent: the machine's randomness. */
  readonly seed: number | undefined;
  readonly features: Features;
  /** Absent: no port. */
  readonly port: number | undefined;
  readonly host: LoopbackHost;
  readonly without: ReadonlySet<OptionalPart>;
  readonly controllers: readonly string[];
  readonly nodeMonitorGraceSeconds: number | undefined;
  /** Absent: the default of the API server. */
  readonly serviceNetwork: string | undefined;
  readonly settleMs: number;
  readonly onLog: ((line: LogLine) => void) | undefined;
}

export type LoopbackHost = (typeof LOOPBACK_HOSTS)[number];

export const LOOPBACK_HOSTS = ['127.0.0.1', '::1'] as const;
export const OPTIONAL_PARTS = ['scheduler', 'controllers', 'serviceAccountAdmission'] as const;
const OPTION_NAMES: ReadonlySet<string> = new Set<keyof ClusterOptions>([
  'hollowNodes',
  'processNodes',
  'store',
  'clock',
  'scripts',
  'seed',
  'features',
  'https',
  'without',
  'controllers',
  'nodeMonitorGraceSeconds',
  'serviceNetwork',
  'settleMs',
  'onLog',
]);
const HOLLOW_NODES_MAX = 10_000;
/** Nodes of one machine that have ids of their own for the users of their pods. */
export const PROCESS_NODES_MAX = 50;
const SETTLE_MS = 10;
const SETTLE_MS_MAX = 10_000;

/** Throws an `OperatorError` that names the wrong option. The values may come from JSON. */
export function readOptions(options: ClusterOptions): ClusterConfig {
  const unknown = Object.keys(options).find((name) => !OPTION_NAMES.has(name));
  if (unknown !== undefined) {
    throw badOption(`"${unknown}" is not an option of a cluster`, `Use one of ${[...OPTION_NAMES].join(', ')}.`);
  }
  const isVirtual = oneOf('clock', options.clock ?? 'real', ['real', 'virtual'] as const) === 'virtual';
  const config = {
    hollowNodes: hollowNodesOf(options.hollowNodes ?? 0),
    processNodes: processNodesOf(options.processNodes ?? 0),
    sqlite: sqliteOf(options.store ?? 'memory'),
    isVirtual,
    scripts: scriptsOf(options.scripts ?? []),
    seed: options.seed === undefined ? (isVirtual ? 1 : undefined) : whole('seed', options.seed, 2 ** 32 - 1),
    features: { ...DEFAULT_FEATURES, ...featuresOf(options.features ?? {}) },
    port: portOf(options.https ?? false),
    host: hostOf(options.https ?? false),
    without: new Set((options.without ?? []).map((part) => oneOf('without', part, OPTIONAL_PARTS))),
    controllers: controllersOf(options.controllers ?? ['*']),
    nodeMonitorGraceSeconds:
      options.nodeMonitorGraceSeconds === undefined
        ? undefined
        : whole('nodeMonitorGraceSeconds', options.nodeMonitorGraceSeconds, 86_400),
    serviceNetwork: options.serviceNetwork,
    settleMs: whole('settleMs', options.settleMs ?? SETTLE_MS, SETTLE_MS_MAX),
    onLog: options.onLog,
  };
  checkTogether(config);
  return config;
}

export const nodeNames = ({ hollowNodes, processNodes }: ClusterConfig): readonly string[] =>
  [...hollowNodes, ...processNodes].map(({ name }) => name);

function checkTogether(config: ClusterConfig): void {
  const { isVirtual, sqlite, processNodes } = config;
  if (isVirtual && sqlite !== undefined) {
    throw badOption('a SQLite store runs on real time', "Use store: 'memory' with clock: 'virtual'.");
  }
  if (isVirtual && processNodes.length > 0) {
    throw badOption('process nodes run on real time', "Use clock: 'real', or hollowNodes with clock: 'virtual'.");
  }
  const names = nodeNames(config);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw badOption(`two nodes have the name "${twice}"`, 'Give each its own name.');
}

function hollowNodesOf(given: number | readonly HollowNodeOptions[]): readonly Required<HollowNodeOptions>[] {
  return nodesOf('hollowNodes', given, HOLLOW_NODES_MAX).map(({ name, labels = {}, capacity = {} }, i) => ({
    name: name ?? `hollow-${i + 1}`,
    labels,
    capacity,
  }));
}

function processNodesOf(given: number | readonly ProcessNodeOptions[]): readonly Required<ProcessNodeOptions>[] {
  return nodesOf('processNodes', given, PROCESS_NODES_MAX).map(({ name, labels = {} }, i) => ({
    name: name ?? `process-${i + 1}`,
    labels,
  }));
}

function nodesOf<N extends object>(option: string, given: number | readonly N[], max: number): readonly Partial<N>[] {
  if (!Array.isArray(given)) return Array.from({ length: whole(option, given, max) }, () => ({}));
  whole(`the number of ${option}`, given.length, max);
  return given;
}

function scriptsOf(scripts: readonly PodScript[]): readonly PodScript[] {
  if (!Array.isArray(scripts)) throw badOption('scripts has to be a list', 'Use [{ labels, script }].');
  const wrong = scripts.find(({ script }) => typeof script !== 'string' || readPodScript(script) === undefined);
  if (wrong === undefined) return scripts;
  const forms = POD_SCRIPT_FORMS.map((form) => `"${form}"`).join(', ');
  throw badOption(`${JSON.stringify(wrong.script)} is not a script`, `Use ${forms}, separated by commas.`);
}

function controllersOf(given: readonly string[]): readonly string[] {
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
  throw badOption('controllers has to be a list of names', "Use controllers: ['*', '-deployment'].");
}

function sqliteOf(store: NonNullable<ClusterOptions['store']>): string | undefined {
  if (store === 'memory') return undefined;
  if (typeof store === 'object' && typeof store.sqlite === 'string' && store.sqlite !== '') return store.sqlite;
  throw badOption('the store is unknown', "Use store: 'memory' or store: { sqlite: directory }.");
}

function portOf(https: NonNullable<ClusterOptions['https']>): number | undefined {
  if (typeof https === 'boolean') return https ? 0 : undefined;
  return whole('https.port', https.port ?? 0, 65_535);
}

function hostOf(https: NonNullable<ClusterOptions['https']>): LoopbackHost {
  const host = typeof https === 'boolean' ? undefined : https.host;
  return oneOf('https.host', host ?? '127.0.0.1', LOOPBACK_HOSTS);
}

function featuresOf(features: Partial<Features>): Partial<Features> {
  const unknown = Object.keys(features).find((name) => !Object.hasOwn(DEFAULT_FEATURES, name));
  if (unknown === undefined) return features;
  throw badOption(`"${unknown}" is not a feature`, `Use one of ${Object.keys(DEFAULT_FEATURES).join(', ')}.`);
}

function whole(option: string, value: unknown, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw badOption(`${option} has to be a whole number from 0 to ${max}`, 'Correct the option.');
}

function oneOf<T extends string>(option: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  throw badOption(`${option} cannot be ${JSON.stringify(value)}`, `Use ${known.join(' or ')}.`);
}

export const badOption = (message: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'ClusterOption', message, nextStep, exitCode: 2 });
