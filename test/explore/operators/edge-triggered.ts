import { nameOf, namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A protocol of the filling. The planted one acts on the state in which it sees the filling, and may not see it. */
export const edgeTriggered: MakeOperator = (isPlanted) => {
  const filled = new Set<string>();
  const stages = isPlanted ? ['fill'] : ['fill', 'sealed'];
  return {
    watches: ['configmaps'],
    onTank: (_type, tank) => {
      if (stages.includes(String(tank.spec['stage']))) filled.add(nameOf(tank));
    },
    reconcile: async ({ core, cached }) => {
      for (const name of filled) {
        if (cached('configmaps').has(name)) continue;
        await unless(409, core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } }));
      }
    },
  };
};
