import { namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A part of each tank, and then the status that says so. The planted one reports first, and believes its own report. */
export const readyTooEarly: MakeOperator = (isPlanted) => ({
  watches: [],
  reconcile: async ({ core, tanks, updateStatus }) => {
    for (const [name, tank] of tanks) {
      if (tank.status?.['ready'] === true) continue;
      if (isPlanted) await updateStatus(tank, { ready: true });
      await unless(409, core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } }));
      if (!isPlanted) await updateStatus(tank, { ready: true });
    }
  },
});
