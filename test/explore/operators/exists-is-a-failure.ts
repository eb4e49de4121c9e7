import { namespace, ownedBy, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A key and a phase for each tank. The planted one takes its own key, made before the answer was lost, for a stranger's. */
export const existsIsAFailure: MakeOperator = (isPlanted) => ({
  watches: [],
  reconcile: async ({ core, tanks, updateStatus }) => {
    for (const [name, tank] of tanks) {
      if (tank.status?.['phase'] !== undefined) continue;
      const body = { metadata: { name, ownerReferences: ownedBy(tank) } };
      const made = await unless(409, core.createNamespacedSecret({ namespace, body }));
      const owner = (made ?? (await core.readNamespacedSecret({ name, namespace }))).metadata?.ownerReferences?.[0];
      const isOurs = isPlanted ? made !== undefined : owner?.uid === tank.metadata?.uid;
      await updateStatus(tank, { phase: isOurs ? 'Ready' : 'Failed' });
    }
  },
});
