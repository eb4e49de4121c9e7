import { countedKinds, type KubeObject, RESOURCE_QUOTAS, type ResourceQuota, type ResourceRef } from '@holdfast/api';
import type { Informer, ReconcileResult } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isFollowed } from '../../common/followed-kinds.ts';
import { NO_CUSTOM_KINDS } from '../../common/kind-pool.ts';
import { listAll } from '../../common/list-all.ts';
import { keyOf, namespaceOf, parseKey } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { QUOTA_RECOUNT_INTERVAL_MS, QUOTA_RESYNC_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, type Found, freesUsage, isStale } from './decide.ts';

/**
 * Counts what each quota's namespace uses. Admission adds to the count with every object that it lets in; this gives back
 * what went away, and counts afresh when a quota is new or changed. The count is exact: the quota is read before the
 * objects, and whatever is let in meanwhile changes the quota, so that the write here loses and counts again.
 */
export function resourceQuotaController({
  resources,
}: {
  readonly resources: readonly ResourceRef[];
}): ControllerDefinition {
  const contents = resources.filter(({ namespaced }) => namespaced);
  return {
    name: 'resourcequota',
    component: 'resourcequota-controller',
    identity: 'manager',
    watches: [RESOURCE_QUOTAS, ...contents.filter(isFollowed)],
    create: (context) => [createLoop(context, contents)],
  };
}

function createLoop(context: ControllerContext, contents: readonly ResourceRef[]): Loop {
  const { clock, informers, customKinds = NO_CUSTOM_KINDS } = context;
  const all = (): readonly ResourceRef[] => [...contents, ...customKinds.list().filter(({ namespaced }) => namespaced)];
  const wakeWhenFreed = (cache: Informer<KubeObject>, enqueue: (key: string) => void): (() => void) =>
    cache.onChange(({ object, old }) => {
      if (old === undefined || !freesUsage(object, old, clock.now())) return;
      for (const quota of quotas.list(namespaceOf(old))) enqueue(keyOf(quota));
    });
  const quotas = informers.of(RESOURCE_QUOTAS);
  const counted = new Map<string, number>();
  return {
    name: 'resourcequota',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => quotas.list().map(keyOf),
    wake: (enqueue) => [
      quotas.onChange(({ key, object }) => {
        if (object === undefined) counted.delete(key);
        else if (isStale(object)) enqueue(key);
      }),
      ...contents.filter(isFollowed).map((kind) => wakeWhenFreed(informers.of(kind), enqueue)),
      customKinds.follow((_, cache) => wakeWhenFreed(cache, enqueue)),
    ],
    reconcile: async (key) => {
      const quota = quotas.get(parseKey(key));
      const wait = (counted.get(key) ?? -QUOTA_RECOUNT_INTERVAL_MS) + QUOTA_RECOUNT_INTERVAL_MS - clock.monotonic();
      if (quota !== undefined && !isStale(quota) && wait > 0) return { requeueAfterMs: wait };
      counted.set(key, clock.monotonic());
      const result = await pass(context, all(), key);
      if (result.requeueAfterMs === undefined) counted.delete(key);
      return result;
    },
  };
}

async function pass(
  context: ControllerContext,
  contents: readonly ResourceRef[],
  key: string,
): Promise<ReconcileResult> {
  const { client, clock } = context;
  const quota = await client.find(RESOURCE_QUOTAS, parseKey(key));
  if (quota === undefined) return {};
  const action = decide(quota, await observe(context, contents, quota), clock.now());
  if (action === undefined) return { requeueAfterMs: QUOTA_RESYNC_MS };
  const written = await unlessChanged(() => client.updateStatus(RESOURCE_QUOTAS, action.quota));
  const again = written === undefined || action.countAgain;
  return { requeueAfterMs: again ? QUOTA_RECOUNT_INTERVAL_MS : QUOTA_RESYNC_MS };
}

/** Live, because a cache that lags would count less than what admission has let in. */
async function observe(
  context: ControllerContext,
  contents: readonly ResourceRef[],
  quota: ResourceQuota,
): Promise<Found> {
  const namespace = namespaceOf(quota);
  const found: { kind: Found[number]['kind']; objects: readonly KubeObject[] }[] = [];
  for (const kind of countedKinds(quota, contents)) {
    found.push({ kind, objects: await listAll(context, kind.resource, { namespace }) });
  }
  return found;
}
