import { namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** A member of the version of each tank; another version is replaced. The planted one deletes whatever has the name now. */
export const deletesByName: MakeOperator = (isPlanted) => ({
  watches: ['configmaps'],
  reconcile: async ({ core, tanks, cached, liveTank }) => {
    for (const [name, tank] of tanks) {
      const version = String(tank.spec['version']);
      const known = cached('configmaps').get(name);
      if (known === undefined) {
        const body = { metadata: { name }, data: { version } };
        await unless(409, core.createNamespacedConfigMap({ namespace, body }));
      } else if (known.data?.['version'] !== version) {
        const live = isPlanted ? tank : await liveTank(name);
        if (String(live?.spec['version']) !== version) continue;
        // With the uid, an answer 409 says that the cache is behind: it will catch up.
        const body = isPlanted ? {} : { preconditions: { uid: known.metadata?.uid ?? '' } };
        await unless(409, unless(404, core.deleteNamespacedConfigMap({ name, namespace, body })));
      }
    }
  },
});
