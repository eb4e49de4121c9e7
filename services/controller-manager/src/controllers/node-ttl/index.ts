import { NODES } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { NODE_TTL_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide } from './decide.ts';

/** Tells kubelets for how long they may keep secrets and config maps: the longer, the more of them there are. */
export const nodeTtlController: ControllerDefinition = {
  name: 'ttl',
  component: 'ttl-controller',
  identity: 'manager',
  watches: [NODES],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const nodes = context.informers.of(NODES);
  return {
    name: 'ttl',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => nodes.list().map(nameOf),
    wake: (enqueue) => [
      // Heartbeats alter nothing here, unless they came between our read and our write, which was then refused.
      nodes.onChange(({ key, object }) => {
        if (object !== undefined && decide(object, nodes.count()) !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (name) => {
      const node = nodes.get({ name });
      if (node === undefined || isTerminating(node)) return {};
      const advised = decide(node, nodes.count());
      if (advised !== undefined) await unlessChanged(() => context.client.update(NODES, advised));
      return { requeueAfterMs: NODE_TTL_RECHECK_MS };
    },
  };
}
