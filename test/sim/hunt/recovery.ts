import { PODS, type Pod } from '@holdfast/api';
import { SimulationFailure } from '@holdfast/testing';
import { appOf } from '../workloads.ts';
import type { StepKind } from './kinds.ts';
import type { Step } from './plan.ts';
import { findByName, type Scene } from './scene.ts';

export const RECOVERY_RULE = 'the identities of a lost node run elsewhere in time';
/** Steps that lose a node, when their target is one. */
export const LOSSES: ReadonlySet<StepKind> = new Set(['isolate', 'cut-to-api', 'cut-from-api', 'power-loss', 'pause']);

/** Checks, when a node is lost for longer than `withinSeconds`, that each of its identities runs on another node by then. */
export function expectRecovery(scene: Scene, { do: what, target, for: lasts = 0 }: Step, withinSeconds: number): void {
  const { kernel } = scene.cluster;
  const lost = identitiesOn(scene, target);
  if (!LOSSES.has(what) || lasts <= withinSeconds || lost.length === 0) return;
  const fire = (): void => {
    const late = lost.filter((pod) => !runsElsewhere(scene, pod));
    if (late.length === 0) return;
    const names = late.map(({ metadata }) => metadata.name).join(' and ');
    const story = `${names} of ${target} (${what}) did not run elsewhere within ${withinSeconds} s`;
    kernel.fail(new SimulationFailure({ oracle: RECOVERY_RULE, seed: kernel.seed, atMs: kernel.elapsedMs, story }));
  };
  kernel.schedule({ delayMs: withinSeconds * 1000, label: `recovery of ${target}`, owner: 'recovery', fire });
}

const identitiesOn = ({ cluster }: Scene, node: string): readonly Pod[] =>
  cluster.committed
    .list(PODS)
    .filter((pod) => appOf(pod) === 'db' && pod.spec.nodeName === node && pod.metadata.deletionTimestamp === undefined);

function runsElsewhere({ cluster }: Scene, { metadata, spec }: Pod): boolean {
  const now = findByName(cluster.committed.list(PODS), metadata.name ?? '');
  const isAnother = now?.metadata.uid !== metadata.uid && now?.spec.nodeName !== spec.nodeName;
  return now?.status.phase === 'Running' && isAnother;
}
