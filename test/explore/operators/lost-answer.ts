import { namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** An order for each tank. The planted one counts them, so that an order whose answer is lost counts twice. */
export const lostAnswer: MakeOperator = (isPlanted) => ({
  watches: [],
  reconcile: async ({ core, tanks, updateStatus }) => {
    for (const [name, tank] of tanks) {
      if (tank.status?.['ordered'] === true) continue;
      const orders = await unless(404, core.readNamespacedConfigMap({ name: 'orders', namespace }));
      const data = orders?.data ?? {};
      const ordered = isPlanted ? { count: String(Number(data['count'] ?? 0) + 1) } : { ...data, [name]: 'ordered' };
      const body = { metadata: Object.assign({}, orders?.metadata, { name: 'orders' }), data: ordered };
      if (orders === undefined) await core.createNamespacedConfigMap({ namespace, body });
      else await core.replaceNamespacedConfigMap({ name: 'orders', namespace, body });
      await updateStatus(tank, { ordered: true });
    }
  },
});
