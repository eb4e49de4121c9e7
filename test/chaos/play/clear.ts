import { writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  type ResourceRef,
  SERVICE_ACCOUNTS,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';

const NAMESPACE = 'default';
const KINDS: readonly ResourceRef<KubeObject>[] = [
  STATEFUL_SETS,
  DEPLOYMENTS,
  JOBS,
  REPLICA_SETS,
  POD_DISRUPTION_BUDGETS,
  LEASES,
];
const OWN_NAMES = /^(?:(?:rare-)?register|made|counter|owner|load|patient)-/;
const CLEAR_WITHIN_MS = 180_000;

/** Removes what a scenario has created, apart from its volumes, and what its processes have said. */
export async function clearWorkloads({ admin, sharedFolder }: ComposeCluster): Promise<void> {
  await waitFor('the last scenario to be gone', () => isClear(admin).catch(() => false), CLEAR_WITHIN_MS);
  for (const file of await readdir(sharedFolder))
    if (file.endsWith('.log')) writeFileSync(path.join(sharedFolder, file), '');
}

/** Asks for everything to go, and says whether it is. */
async function isClear(admin: ApiClient): Promise<boolean> {
  let left = 0;
  const remove = async (kind: ResourceRef<KubeObject>, object: KubeObject): Promise<void> => {
    const { name = '', namespace, finalizers = [], deletionTimestamp } = object.metadata;
    const target = namespace === undefined ? { name } : { namespace, name };
    left++;
    if (deletionTimestamp === undefined) await admin.delete(kind, target).catch(() => undefined);
    else if (finalizers.length > 0)
      await admin
        .patch(kind, target, { type: 'merge', body: { metadata: { finalizers: null } } })
        .catch(() => undefined);
  };
  for (const kind of [...KINDS, PODS])
    for (const object of (await admin.list(kind, { namespace: NAMESPACE })).items) await remove(kind, object);
  for (const kind of [CONFIG_MAPS, SERVICE_ACCOUNTS] as readonly ResourceRef<KubeObject>[])
    for (const object of (await admin.list(kind, { namespace: NAMESPACE })).items)
      if (OWN_NAMES.test(object.metadata.name ?? '')) await remove(kind, object);
  for (const object of (await admin.list(NAMESPACES)).items)
    if (object.metadata.name?.startsWith('side-') === true) await remove(NAMESPACES, object);
  return left === 0;
}
