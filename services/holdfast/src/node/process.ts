import { startProcess } from '@holdfast/kubelet/node-process';
import { type Log, OperatorError, type Service } from '@holdfast/platform';
import type { NodeConfig } from './config.ts';

/** A kubelet whose pods have addresses of their own, where this machine allows it. */
export async function startNode(config: NodeConfig, log: Log): Promise<Service> {
  const refusal = await whyShared(config);
  if (refusal === undefined) {
    const { createNodePodNetwork } = await import('./node-pod-network.ts');
    return startProcess(config.kubelet, log, (tools) => createNodePodNetwork(config, tools));
  }
  if (config.podNetwork === 'private') throw impossible(refusal);
  if (refusal !== '')
    log.warn('pods share the network of this machine, and nothing routes services', { reason: refusal });
  return startProcess(config.kubelet, log);
}

/** `undefined`: pods get addresses of their own. '': nobody asked for them. */
async function whyShared({ podNetwork, kubelet, proxyTokenFile }: NodeConfig): Promise<string | undefined> {
  if (podNetwork === 'host') return '';
  if (kubelet.runtime !== 'process') return 'a container runtime has a network of its own';
  if (proxyTokenFile === undefined) return '--proxy-token-file is not set';
  if (process.getuid?.() !== 0) return 'only root may route packets';
  const { canFilter, forwardingRefusal, networkRefusal } = await import('@holdfast/kubelet/pod-network');
  if (!canFilter()) return 'nft is not installed';
  const refusal = forwardingRefusal() || (await networkRefusal());
  return refusal === '' ? undefined : refusal;
}

const impossible = (reason: string): OperatorError =>
  new OperatorError({
    code: 'NoPodNetwork',
    message: `pods cannot have addresses of their own on this node: ${reason}`,
    nextStep: 'Give the node the rights that docs/networking.md lists, or choose --pod-network=host.',
    exitCode: 2,
  });
