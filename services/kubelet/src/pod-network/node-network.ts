import { NODES } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { RuntimeError } from '../runtime/port.ts';
import type { ProcessNetwork } from '../runtime/process/process-network.ts';
import { NODE_NETWORK_POLL_MS, NODE_NETWORK_WAIT_MS, POLICIES_WAIT_MS } from './limits.ts';
import type { PodNetwork } from './pod-network.ts';

export interface NodeNetworkDeps {
  readonly network: PodNetwork;
  readonly client: Pick<ApiClient, 'find'>;
  readonly clock: Clock;
  readonly nodeName: string;
  /** Network policies bind pods before these run. Absent: nothing enforces policies. */
  readonly policies?: PolicyGate | undefined;
}

export interface PolicyGate {
  /** Resolves when the policies bind the pod at its new address. */
  admit(pod: AdmittedPod): Promise<void>;
  /** Nothing has the address of this id any more. */
  leave(id: string): void;
  /** Why the rules could not be written last; absent when they were. */
  failure(): string | undefined;
}

export interface AdmittedPod {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly address: string;
}

/** The part of the network that belongs to one node: its pods get addresses of `spec.podCIDR`. */
export function createNodeNetwork(deps: NodeNetworkDeps): ProcessNetwork {
  const { network, nodeName } = deps;
  const prefix = `${nodeName}/`;
  const own = (key: string): string => `${prefix}${key}`;
  return {
    attach: async (key, { podNamespace: namespace, podName: name, podUid: uid }) => {
      const attachment = await network.attach(own(key), await nodeCidr(deps), namespace);
      await admitted(deps, { id: own(key), namespace, name, uid, address: attachment.address });
      return { ...attachment, key };
    },
    detach: async (key) => {
      await network.detach(own(key));
      deps.policies?.leave(own(key));
    },
    attached: async () =>
      (await network.attached())
        .filter(({ key }) => key.startsWith(prefix))
        .map((each) => ({ ...each, key: each.key.slice(prefix.length) })),
    dial: ({ key, ...place }) => network.dial({ ...place, key: own(key) }),
    onLost: (listener) => network.onLost(listener),
  };
}

/** A pod that no policy binds yet could do what policies forbid: its start is tried again instead. */
async function admitted({ clock, policies }: NodeNetworkDeps, pod: AdmittedPod): Promise<void> {
  if (policies === undefined) return;
  const late = Promise.withResolvers<never>();
  const deadline = clock.timer(POLICIES_WAIT_MS, () => late.reject(notInForce(policies.failure())));
  try {
    await Promise.race([policies.admit(pod), late.promise]);
  } finally {
    deadline.cancel();
  }
}

const notInForce = (reason: string | undefined): RuntimeError =>
  new RuntimeError(
    'Unavailable',
    `the network policies of the pod are not in force yet; it starts when they are${
      reason === undefined ? '' : `: the rules cannot be written: ${reason}`
    }`,
  );

/** The controller sets it soon after the node was registered. */
export async function nodeCidr({
  client,
  clock,
  nodeName: name,
}: Pick<NodeNetworkDeps, 'client' | 'clock' | 'nodeName'>): Promise<string> {
  const giveUpAt = clock.monotonic() + NODE_NETWORK_WAIT_MS;
  for (;;) {
    const node = await client.find(NODES, { name });
    if (node?.spec.podCIDR) return node.spec.podCIDR;
    if (clock.monotonic() >= giveUpAt)
      throw new RuntimeError('Unavailable', `node ${name} has no network for pods (spec.podCIDR) yet`);
    await clock.sleep(NODE_NETWORK_POLL_MS);
  }
}
