import { NODES } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { RuntimeError } from '../runtime/port.ts';
import type { ProcessNetwork } from '../runtime/process/process-network.ts';
import { NODE_NETWORK_POLL_MS, NODE_NETWORK_WAIT_MS } from './limits.ts';
import type { PodNetwork } from './pod-network.ts';

export interface NodeNetworkDeps {
  readonly network: PodNetwork;
  readonly client: Pick<ApiClient, 'get'>;
  readonly clock: Clock;
  readonly nodeName: string;
}

/** The part of the network that belongs to one node: its pods get addresses of `spec.podCIDR`. */
export function createNodeNetwork(deps: NodeNetworkDeps): ProcessNetwork {
  const { network, nodeName } = deps;
  const prefix = `${nodeName}/`;
  const own = (key: string): string => `${prefix}${key}`;
  return {
    attach: async (key) => ({ ...(await network.attach(own(key), await nodeCidr(deps))), key }),
    detach: (key) => network.detach(own(key)),
    attached: async () =>
      (await network.attached())
        .filter(({ key }) => key.startsWith(prefix))
        .map((each) => ({ ...each, key: each.key.slice(prefix.length) })),
    dial: ({ key, ...place }) => network.dial({ ...place, key: own(key) }),
    onLost: (listener) => network.onLost(listener),
  };
}

/** The controller sets it soon after the node was registered. */
async function nodeCidr({ client, clock, nodeName: name }: NodeNetworkDeps): Promise<string> {
  const giveUpAt = clock.monotonic() + NODE_NETWORK_WAIT_MS;
  for (;;) {
    const { podCIDR } = (await client.get(NODES, { name })).spec;
    if (podCIDR) return podCIDR;
    if (clock.monotonic() >= giveUpAt)
      throw new RuntimeError('Unavailable', `node ${name} has no network for pods (spec.podCIDR) yet`);
    await clock.sleep(NODE_NETWORK_POLL_MS);
  }
}
