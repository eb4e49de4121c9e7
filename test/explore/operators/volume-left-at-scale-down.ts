import { type Cached, isGoing, nameOf, namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

const ORDINAL = /-(\d+)$/;

/** A member and a claim for each replica. The planted one deletes the claim only together with its member. */
export const volumeLeftAtScaleDown: MakeOperator = (isPlanted) => ({
  watches: ['configmaps', 'persistentvolumeclaims'],
  reconcile: async ({ core, tanks, cached }) => {
    const [members, claims] = [cached('configmaps'), cached('persistentvolumeclaims')];
    for (const [tank, { spec }] of tanks) {
      const size = Number(spec['size'] ?? 0);
      for (let i = 0; i < size; i += 1) {
        const metadata = { name: `${tank}-${i}`, labels: { tank } };
        const storage = {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'none',
          resources: { requests: { storage: '1Gi' } },
        };
        if (!claims.has(metadata.name)) {
          await unless(
            409,
            core.createNamespacedPersistentVolumeClaim({ namespace, body: { metadata, spec: storage } }),
          );
        }
        if (!members.has(metadata.name))
          await unless(409, core.createNamespacedConfigMap({ namespace, body: { metadata } }));
      }
      const isSurplus = (each: Cached): boolean =>
        each.metadata?.labels?.['tank'] === tank && Number(ORDINAL.exec(nameOf(each))?.[1]) >= size && !isGoing(each);
      const removeClaim = (name: string) =>
        unless(404, core.deleteNamespacedPersistentVolumeClaim({ name, namespace }));
      for (const name of [...members.values()].filter(isSurplus).map(nameOf)) {
        await unless(404, core.deleteNamespacedConfigMap({ name, namespace }));
        if (isPlanted) await removeClaim(name);
      }
      if (!isPlanted) for (const name of [...claims.values()].filter(isSurplus).map(nameOf)) await removeClaim(name);
    }
  },
});
