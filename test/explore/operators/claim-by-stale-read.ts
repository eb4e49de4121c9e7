import { isGoing, namespace, unless } from '../framework.ts';
import type { MakeOperator } from '../make-operator.ts';

/** Claims without a tank are deleted. The correct one asks the API server before, because its cache may be old. */
export const claimByStaleRead: MakeOperator = (isPlanted) => ({
  watches: ['persistentvolumeclaims'],
  reconcile: async ({ core, tanks, cached, liveTank }) => {
    const claims = cached('persistentvolumeclaims');
    for (const name of tanks.keys()) {
      if (claims.has(name)) continue;
      const spec = {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'none',
        resources: { requests: { storage: '1Gi' } },
      };
      const body = { metadata: { name, labels: { tank: name } }, spec };
      await unless(409, core.createNamespacedPersistentVolumeClaim({ namespace, body }));
    }
    for (const [name, claim] of claims) {
      if (tanks.has(name) || claim.metadata?.labels?.['tank'] === undefined || isGoing(claim)) continue;
      if (!isPlanted && (await liveTank(name)) !== undefined) continue;
      const body = isPlanted ? {} : { preconditions: { uid: claim.metadata.uid ?? '' } };
      await unless(404, core.deleteNamespacedPersistentVolumeClaim({ name, namespace, body }));
    }
  },
});
