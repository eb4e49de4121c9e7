import { unless } from '../framework.ts';
import { keepCopies } from '../keep-copies.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A copy of the value of each tank. The planted one takes a conflict for a success of somebody else. */
export const conflictSwallowed: MakeOperator = (isPlanted) => ({
  watches: ['configmaps'],
  reconcile: async (world) => {
    if (isPlanted) await unless(409, keepCopies(world));
    else await keepCopies(world);
  },
});
