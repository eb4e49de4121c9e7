import { PODS } from '@holdfast/api';
import { ACTIONS, liftEverything } from './actions.ts';
import { APPS, type HuntPlan, replicasOf, type Step } from './plan.ts';
import { pauseOf, type Scene } from './scene.ts';
import { hasStrayed, isAdoptable } from './strays.ts';
import { letGo } from './user-actions.ts';
import { createApp, createOne, FINALIZER, named, STRAYED } from './workloads.ts';

const ROUNDS = 12;
const ROUND_MS = 10_000;
const SCALE: Step = { at: 0, do: 'scale', target: '' };

/** Reverts changes of users; retries until it succeeds. */
export async function restoreWorkloads(scene: Scene): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await restoreOnce(scene);
    await pauseOf(scene.cluster, ROUND_MS);
  }
}

async function restoreOnce(scene: Scene): Promise<void> {
  const { cluster, plan } = scene;
  liftEverything(scene);
  for (const [target, value] of Object.entries(replicasOf(plan))) ACTIONS.scale(scene, { ...SCALE, target, value });
  for (const { metadata } of cluster.committed.list(PODS)) {
    if ((metadata.finalizers ?? []).includes(FINALIZER)) await quietly(letGo(cluster.admin, metadata.name ?? ''));
  }
  await bringStraysBack(scene);
  await clearStrays(scene);
  await createWhatIsGone(scene, plan);
}

async function createWhatIsGone({ cluster: { admin, committed } }: Scene, plan: HuntPlan): Promise<void> {
  for (const app of APPS) await quietly(createApp(plan, admin, app));
  const isThere = committed.list(PODS).some(({ metadata }) => metadata.name === 'one');
  if (!isThere) await quietly(createOne(plan, admin));
}

async function bringStraysBack({ cluster: { committed, admin } }: Scene): Promise<void> {
  for (const { metadata } of committed.list(PODS)) {
    if (metadata.labels?.['app'] !== STRAYED) continue;
    const body = { metadata: { labels: { app: metadata.labels['was'] } } };
    await quietly(admin.patch(PODS, named(metadata.name ?? ''), { type: 'merge', body }));
  }
}

/** The user deletes pods that he took from their controller, and that no controller can adopt any more. */
async function clearStrays({ cluster: { committed, admin } }: Scene): Promise<void> {
  for (const { metadata } of committed.list(PODS)) {
    if (!hasStrayed(metadata) || isAdoptable(committed, metadata)) continue;
    const target = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
    await quietly(admin.delete(PODS, target));
  }
}

const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);
