import { parseCidr } from '@holdfast/api';
import { KUBELET_SETTINGS, type KubeletConfig, readKubeletConfig } from '@holdfast/kubelet/node-process';
import type { LogLevel } from '@holdfast/platform';
import { badSetting, readSettings, type SettingSource, type SettingSpecs } from '@holdfast/platform/config';
import { readHealthzPlace } from '@holdfast/proxy';

export const NODE_SETTINGS = {
  ...KUBELET_SETTINGS,
  'pod-network': {
    kind: 'enum',
    values: ['auto', 'private', 'host'],
    help: 'private: each process pod has an address of its own, and services are routed; host: pods share the network of the machine; auto: private where the machine allows it',
    default: 'auto',
  },
  'cluster-cidr': {
    kind: 'string',
    help: 'network of all pods, from which --allocate-node-cidrs of the controller manager gives each node its part',
    default: '10.244.0.0/16',
  },
  'proxy-token-file': {
    kind: 'file',
    help: 'file with a bearer token of system:kube-proxy, which reads services, nodes and network policies',
  },
  'healthz-bind-address': {
    kind: 'string',
    help: 'host:port of /healthz and /livez of the proxy; none: not served',
    default: '0.0.0.0:10256',
  },
} as const satisfies SettingSpecs;

export interface NodeConfig {
  readonly kubelet: KubeletConfig;
  readonly podNetwork: 'auto' | 'private' | 'host';
  readonly clusterNetwork: string;
  readonly proxyTokenFile: string | undefined;
  readonly healthz: { readonly host: string; readonly port: number } | undefined;
  readonly logLevel: LogLevel;
}

/** `undefined` for `--help`. */
export function readNodeConfig(source: SettingSource): NodeConfig | undefined {
  const kubelet = readKubeletConfig(source, NODE_SETTINGS);
  if (kubelet === undefined) return undefined;
  const settings = readSettings(NODE_SETTINGS, source);
  const clusterNetwork = settings['cluster-cidr'];
  if (parseCidr(clusterNetwork)?.ip.family !== 'IPv4')
    throw badSetting(`--cluster-cidr takes a network of IPv4 such as 10.244.0.0/16, not "${clusterNetwork}"`);
  return {
    kubelet,
    podNetwork: settings['pod-network'],
    clusterNetwork,
    proxyTokenFile: settings['proxy-token-file'],
    healthz: readHealthzPlace(settings['healthz-bind-address']),
    logLevel: kubelet.logLevel,
  };
}
