import { keepCopies } from '../keep-copies.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A copy of the value of each tank. The planted one watches from the same version again after 410. */
export const stuckAfter410: MakeOperator = (isPlanted) => ({
  watches: ['configmaps'],
  ignoresExpiry: isPlanted,
  reconcile: (world) => keepCopies(world),
});
