import { namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** One key for each tank. The planted one lets the server choose a name, and trusts its cache that there is none yet. */
export const createsTwice: MakeOperator = (isPlanted) => ({
  watches: ['secrets'],
  reconcile: async ({ core, tanks, cached }) => {
    for (const name of tanks.keys()) {
      const labels = { tank: name };
      if ([...cached('secrets').values()].some(({ metadata }) => metadata?.labels?.['tank'] === name)) continue;
      const metadata = isPlanted ? { generateName: `${name}-`, labels } : { name: `${name}-key`, labels };
      await unless(isPlanted ? 0 : 409, core.createNamespacedSecret({ namespace, body: { metadata } }));
    }
  },
});
