import type { MakeOperator } from '../make-operator.ts';

/** Counts the versions of a tank in its status. The planted one counts in its memory, which a restart empties. */
export const statusInMemory: MakeOperator = (isPlanted) => {
  const counts = new Map<string, number>();
  return {
    watches: [],
    reconcile: async ({ tanks, updateStatus }) => {
      for (const [name, tank] of tanks) {
        const { version = '', changes = 0 } = tank.status ?? {};
        if (version === tank.spec['version']) continue;
        const count = (isPlanted ? (counts.get(name) ?? 0) : Number(changes)) + 1;
        await updateStatus(tank, { version: tank.spec['version'] ?? '', changes: count });
        counts.set(name, count);
      }
    },
  };
};
