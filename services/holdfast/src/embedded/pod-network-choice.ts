import { OperatorError } from '@holdfast/platform';
import type { StartConfig } from '../config.ts';
import { SERVICE_NETWORK } from '../pod-network/cluster-addresses.ts';
import type { DataDirectory } from './data-directory.ts';
import type { NodeRuntime } from './runtime-choice.ts';

export type PodNetworks = typeof import('@holdfast/kubelet/pod-network');

export interface PodNetworkChoice {
  /** Absent: process pods share the network of the machine. */
  readonly networks: PodNetworks | undefined;
  /** The choice and its reason. Absent: it needs no words. */
  readonly line?: string;
}

const SHARED: PodNetworkChoice = { networks: undefined };

/** Whether process pods have addresses of their own. `auto` decides once for each data directory. */
export async function choosePodNetwork(
  config: Pick<StartConfig, 'podNetwork' | 'clusterCidr' | 'nodes'>,
  { kind }: Pick<NodeRuntime, 'kind'>,
  directory: Pick<DataDirectory, 'podNetwork' | 'keepPodNetwork' | 'networkPath'>,
  load: () => Promise<PodNetworks> = () => import('@holdfast/kubelet/pod-network'),
): Promise<PodNetworkChoice> {
  const { podNetwork: wanted, clusterCidr, nodes } = config;
  if (wanted === 'host' || nodes === 0 || kind !== 'process') return SHARED;
  const kept = wanted === 'auto' ? directory.podNetwork() : undefined;
  if (kept === 'host') return { ...SHARED, line: 'host (as chosen by an earlier start in this data directory)' };
  const networks = await load();
  const link = networks.machineLinkName(directory.networkPath);
  const [refusal, apart] = await Promise.all([
    networks.networkRefusal(),
    networks.machineLinkRefusal([clusterCidr, SERVICE_NETWORK], link),
  ]);
  if (refusal === '') {
    if (wanted === 'auto') directory.keepPodNetwork('private');
    return {
      networks,
      line: `private (every pod has an address of ${clusterCidr}; ${fromMachine(apart)}; ${wayOut(networks)})`,
    };
  }
  if (wanted === 'private' || kept === 'private') throw impossible(refusal);
  directory.keepPodNetwork('host');
  const line = `host (pods share the network of this machine: ${refusal})`;
  return { ...SHARED, line };
}

const fromMachine = (refusal: string): string =>
  refusal === ''
    ? 'this machine reaches pods and services at their addresses'
    : `this machine reaches pods by kubectl port-forward: ${refusal}`;

function wayOut({ wayOutRefusal, wayOutProtocols }: PodNetworks): string {
  const refusal = wayOutRefusal();
  if (refusal !== '') return `no way to other networks: ${refusal}`;
  return `other networks are reached by ${wayOutProtocols()
    .map((name) => name.toUpperCase())
    .join(' and ')}`;
}

const impossible = (refusal: string): OperatorError =>
  new OperatorError({
    code: 'NoPodNetwork',
    message: `pods cannot have addresses of their own on this machine: ${refusal}`,
    nextStep:
      'Install iproute2 and util-linux and allow user namespaces (or run as root), or start with --pod-network=host.',
  });
