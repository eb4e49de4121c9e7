import { codeOf } from '../framework.ts';
import { keepCopies } from '../keep-copies.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A copy of the value of each tank. The planted one never tries a tank again that was refused with 429. */
export const givesUpWhenThrottled: MakeOperator = (isPlanted) => {
  let hasGivenUp = false;
  return {
    watches: ['configmaps'],
    reconcile: async (world) => {
      if (hasGivenUp) return;
      try {
        await keepCopies(world);
      } catch (error) {
        if (!isPlanted || codeOf(error) !== 429) throw error;
        hasGivenUp = true;
      }
    },
  };
};
