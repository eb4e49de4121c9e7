import { isGoing, namespace, type Tank, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

const FINALIZER = 'example.com/record';

/** A record outside of what owners reach. The planted one sets the finalizer only when it has just made the record. */
export const finalizerAfterCrash: MakeOperator = (isPlanted) => ({
  watches: ['configmaps'],
  reconcile: async ({ core, tanks, cached, updateTank }) => {
    for (const [name, tank] of tanks) {
      const { finalizers = [] } = tank.metadata ?? {};
      const withFinalizers = (list: string[]): Tank => ({
        ...tank,
        metadata: Object.assign({}, tank.metadata, { finalizers: list }),
      });
      if (isGoing(tank)) {
        if (!finalizers.includes(FINALIZER)) continue;
        await unless(404, core.deleteNamespacedConfigMap({ name, namespace }));
        await unless(404, updateTank(withFinalizers(finalizers.filter((each) => each !== FINALIZER))));
        continue;
      }
      const create = () => unless(409, core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } }));
      const isRecorded = cached('configmaps').has(name);
      if (isPlanted && !isRecorded) await create();
      const sets = isPlanted ? !isRecorded : true;
      if (sets && !finalizers.includes(FINALIZER)) await updateTank(withFinalizers([...finalizers, FINALIZER]));
      else if (!isPlanted && !isRecorded) await create();
    }
  },
});
