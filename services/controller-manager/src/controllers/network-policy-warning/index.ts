import { NETWORK_POLICIES } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, parseKey } from '../../common/meta.ts';

/** Warns of policies that nothing is known to enforce: their owner would take pods for isolated. */
export const networkPolicyWarningController: ControllerDefinition = {
  name: 'network-policy-warning',
  component: 'network-policy-warning',
  identity: 'manager',
  watches: [NETWORK_POLICIES],
  create: (context) => [createLoop(context)],
};

function createLoop({ informers, events, log }: ControllerContext): Loop {
  const policies = informers.of(NETWORK_POLICIES);
  let isStated = false;
  return {
    name: 'network-policy-warning',
    workers: 1,
    initialKeys: () => policies.list().map(keyOf),
    wake: (enqueue) => [
      policies.onChange(({ key, object, old }) => {
        if (object !== undefined && object.metadata.uid !== old?.metadata.uid) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const policy = policies.get(parseKey(key));
      if (policy === undefined) return {};
      events.event(policy, NOT_ENFORCED);
      if (!isStated)
        log.warn('there are network policies, and nothing in this cluster is known to enforce them', { first: key });
      isStated = true;
      return {};
    },
  };
}

const NOT_ENFORCED = {
  type: 'Warning',
  reason: 'PolicyNotEnforced',
  message:
    'Nothing in this cluster is known to enforce network policies, so this one may have no effect. Process nodes enforce them with --pod-network=private and nftables. If a network plugin or the proxy does, start the controller manager with --network-policies-enforced.',
} as const;
