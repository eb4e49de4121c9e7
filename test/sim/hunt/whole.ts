import { isPodFinished, type Pod } from '@holdfast/api';
import { SimulationFailure } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';
import { isReady } from '../workloads.ts';
import type { World } from '../world.ts';
import { whatIsLeft } from './leftovers.ts';
import type { Living } from './living.ts';
import { type HuntPlan, replicasOf } from './plan.ts';

/** How often it is looked at, and how much longer the kernel runs before it gives up by itself. */
const LOOK_MS = 500;
const SPARE_MS = 30_000;

export interface Whole {
  readonly plan: HuntPlan;
  readonly cluster: SimCluster;
  readonly world: World;
  readonly living: Living;
}

/** Runs until nodes are ready, applications complete, and the living processes match the API. */
export async function untilWhole(whole: Whole, what: string, deadlineMs: number): Promise<void> {
  const { kernel } = whole.cluster;
  let reason: string | undefined = 'not looked at';
  const giveUpAt = kernel.elapsedMs + deadlineMs;
  let lookAt = 0;
  const isOver = (): boolean => {
    if (kernel.elapsedMs < lookAt) return false;
    lookAt = kernel.elapsedMs + LOOK_MS;
    reason = whyNotWhole(whole);
    return reason === undefined || kernel.elapsedMs >= giveUpAt;
  };
  await kernel.runUntil(what, isOver, deadlineMs + SPARE_MS);
  if (reason === undefined) return;
  const story = `${what}: not within ${deadlineMs / 1000} s: ${reason}`;
  throw new SimulationFailure({ oracle: 'liveness', seed: kernel.seed, atMs: kernel.elapsedMs, story });
}

function whyNotWhole({ plan, cluster, world, living }: Whole): string | undefined {
  const ready = world.readyNodes();
  if (ready.length !== plan.nodes) return `nodes ready: ${ready.join(', ')}`;
  for (const [app, replicas] of Object.entries({ ...replicasOf(plan), one: 1 })) {
    if (!isComplete(world.pods(app), replicas)) return `${app} is not up: ${world.pods(app).map(describe).join('; ')}`;
  }
  const bound = new Map(world.allPods().map((pod) => [pod.metadata.uid ?? '', pod]));
  for (const { uid, name, node } of living.all()) {
    if (bound.get(uid)?.spec.nodeName !== node) return `${name} (${uid}) lives on ${node}, which the API does not say`;
  }
  const going = world.allPods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (going.length > 0) return `still being deleted: ${going.map(describe).join('; ')}`;
  return whatIsLeft(cluster.committed);
}

/** As for its controller, a pod that its node has refused is none of the application; it stays until somebody removes it. */
export function isComplete(pods: readonly Pod[], replicas: number): boolean {
  const left = pods.filter((pod) => !isPodFinished(pod));
  return left.length === replicas && left.every(isReady);
}

const describe = ({ metadata, spec, status }: Pod): string =>
  `${metadata.name} on ${spec.nodeName ?? 'no node'} ${status.phase}${metadata.deletionTimestamp === undefined ? '' : ' (being deleted)'}`;
