import { isGoing, nameOf, namespace, ownedBy, type Tank } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A key for each tank, made once. The planted one remembers names, and a new tank may have the name of an old one. */
export const sameNameOtherUid: MakeOperator = (isPlanted) => {
  const done = new Set<string>();
  const markOf = (tank: Tank): string => (isPlanted ? nameOf(tank) : (tank.metadata?.uid ?? ''));
  return {
    watches: ['secrets'],
    onTank: (type, tank) => {
      if (type === 'DELETED') done.delete(markOf(tank));
    },
    reconcile: async ({ core, tanks, cached }) => {
      for (const [name, tank] of tanks) {
        if (done.has(markOf(tank)) || isGoing(tank)) continue;
        const known = cached('secrets').get(name);
        const isOurs = known?.metadata?.ownerReferences?.[0]?.uid === tank.metadata?.uid;
        if (known !== undefined && !isOurs) throw new Error(`the secret ${name} belongs to an earlier tank`);
        const body = { metadata: { name, ownerReferences: ownedBy(tank) } };
        if (known === undefined) await core.createNamespacedSecret({ namespace, body });
        done.add(markOf(tank));
      }
    },
  };
};
