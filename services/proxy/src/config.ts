import { parseCidr } from '@holdfast/api';
import { COMPONENT_SETTINGS, type ComponentSettings } from '@holdfast/client/component-config';
import { type LogLevel, OperatorError } from '@holdfast/platform';
import { badSetting, readSettings, type SettingSource, type SettingSpecs } from '@holdfast/platform/config';
import type { ProxyOptions } from './proxy-deps.ts';

export const PROXY_SETTINGS = {
  ...COMPONENT_SETTINGS,
  'node-name': { kind: 'string', help: 'the node whose network namespace this is' },
  'cluster-cidr': { kind: 'list', help: 'networks of all pods; default: those of this node', default: [] },
  'masquerade-all': { kind: 'boolean', help: 'give every flow to a cluster address the address of this node' },
  'nodeport-addresses': {
    kind: 'list',
    help: 'networks whose addresses of this machine answer at node ports; default: the internal addresses of the node',
    default: [],
  },
  'without-network-policies': { kind: 'boolean', help: 'leave network policies to a network plugin' },
  'healthz-bind-address': {
    kind: 'string',
    help: 'host:port of /healthz and /livez for load balancers and probes of any machine; none: not served',
    default: '0.0.0.0:10256',
  },
  'metrics-bind-address': {
    kind: 'string',
    help: 'host:port of /metrics, /healthz, /livez and /readyz for programs of this machine; none: not served',
    default: '127.0.0.1:10249',
  },
  'remove-rules-on-stop': { kind: 'boolean', help: 'remove every rule at the stop; else the rules keep routing' },
  cleanup: { kind: 'boolean', help: 'remove every rule of an earlier run, and exit' },
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export interface ProxyConfig {
  readonly component: ComponentSettings;
  readonly logLevel: LogLevel;
  readonly nodeName: string;
  readonly options: ProxyOptions;
  readonly healthz: { readonly host: string; readonly port: number } | undefined;
  readonly metricsAddress: string | undefined;
  readonly removeRulesOnStop: boolean;
  /** Remove the rules, and do nothing else. */
  readonly isCleanup: boolean;
}

/** Returns `undefined` for `--help`. */
export function readProxyConfig(source: SettingSource): ProxyConfig | undefined {
  const settings = readSettings(PROXY_SETTINGS, source);
  if (settings.help) return undefined;
  const nodeName = settings['node-name'] ?? '';
  if (nodeName === '' && !settings.cleanup) throw NO_NODE;
  const metricsAddress = settings['metrics-bind-address'];
  return {
    component: settings,
    logLevel: settings['log-level'],
    nodeName,
    options: {
      clusterCidrs: networks('cluster-cidr', settings['cluster-cidr']),
      masqueradeAll: settings['masquerade-all'],
      nodePortAddresses: networks('nodeport-addresses', settings['nodeport-addresses']),
      networkPolicies: !settings['without-network-policies'],
    },
    healthz: readHealthzPlace(settings['healthz-bind-address']),
    metricsAddress: metricsAddress === 'none' ? undefined : metricsAddress,
    removeRulesOnStop: settings['remove-rules-on-stop'],
    isCleanup: settings.cleanup,
  };
}

const NO_NODE = new OperatorError({
  code: 'MissingSetting',
  message: 'the proxy does not know its node',
  nextStep: 'set --node-name (HOLDFAST_NODE_NAME) to the name of the Node object of this machine',
  exitCode: 2,
});

function networks(setting: string, texts: readonly string[]): readonly string[] {
  const wrong = texts.find((text) => parseCidr(text) === undefined);
  if (wrong === undefined) return texts;
  throw badSetting(`--${setting} takes networks such as 10.244.0.0/16, not "${wrong}"`);
}

/** `undefined` for `none`. */
export function readHealthzPlace(text: string): ProxyConfig['healthz'] {
  if (text === 'none') return undefined;
  const match = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match?.[1] !== undefined && port <= 65_535) return { host: match[1], port };
  throw badSetting(`--healthz-bind-address has the form host:port, not "${text}"`, 'For example 0.0.0.0:10256.');
}
