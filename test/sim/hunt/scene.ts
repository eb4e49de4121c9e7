import type { KubeObject } from '@holdfast/api';
import { PODS, type Pod } from '@holdfast/api';
import type { SimCluster } from '../cluster.ts';
import { appOf } from '../workloads.ts';
import type { StoreWay } from './faulty-store.ts';
import type { Living } from './living.ts';
import { type HuntPlan, nodeOf, PLACED, type Step } from './plan.ts';

/** A process that ends right after it has sent so many more writes. */
export interface Doom {
  writesLeft: number;
  readonly seconds: number;
}

/** The targets of a step. */
export interface Scene {
  readonly plan: HuntPlan;
  readonly cluster: SimCluster;
  readonly living: Living;
  readonly ways: ReadonlyMap<string, StoreWay>;
  readonly poweredOff: Set<string>;
  readonly crashed: Set<string>;
  /** Machines that the fencer has turned off. */
  readonly fenced: Set<string>;
  /** Machines that a user has turned off and declared out of service: they stay off until that is taken back. */
  readonly retired: Set<string>;
  readonly doomed: Map<string, Doom>;
  /** Uids that the careful user has named in a deletion. */
  readonly named: Set<string>;
  /** Uids of pods whose processes a fault has ended. */
  readonly killed: Set<string>;
}

type Ask = () => Promise<unknown>;
/** Begins a step; what it returns ends it. */
export type Action = (scene: Scene, step: Step) => (() => void) | void;

/** Users ask one after the other, and take no for an answer. */
export function send(cluster: SimCluster, ...asks: readonly Ask[]): void {
  const all = async (): Promise<void> => {
    for (const ask of asks) await ask().catch(() => undefined);
  };
  cluster.background(all());
}

/** Asks again until the answer is yes. */
export async function insist(cluster: SimCluster, ask: Ask): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch {
      await pauseOf(cluster, INSIST_MS);
    }
  }
}

const INSIST_MS = 2_000;

export const pauseOf = ({ kernel }: SimCluster, ms: number): Promise<void> =>
  new Promise((resolve) => {
    kernel.schedule({ delayMs: ms, label: 'wait', owner: 'hunt', fire: resolve });
  });

export type Machines = Pick<Scene, 'poweredOff' | 'fenced' | 'retired'>;

export const isOff = ({ poweredOff, fenced, retired }: Machines, node: string): boolean =>
  poweredOff.has(node) || fenced.has(node) || retired.has(node);

/** A user takes the word for the end of what runs on the node. */
export function giveUpNode({ cluster, living }: Scene, node: string): void {
  for (const pod of living.all()) if (pod.node === node) cluster.oracle.release('default', pod.name);
  living.giveUp((pod) => pod.node === node);
}

/** One of the intended pods; the time of the step determines which. */
export function findPod(scene: Scene, { target, at }: Step): string | undefined {
  const pods = podsOf(scene, target);
  return pods[Math.round(at * 1000) % pods.length];
}

export const findByName = <T extends KubeObject>(objects: readonly T[], name: string): T | undefined =>
  objects.find(({ metadata }) => metadata.name === name);

/** The step with its current node; absent while there is none. */
export function meantNow({ cluster }: Scene, step: Step): Step | undefined {
  const app = PLACED.find((each) => step.target.endsWith(nodeOf(each)));
  if (app === undefined) return step;
  const node = cluster.committed.list(PODS).find((pod) => appOf(pod) === app && pod.spec.nodeName !== undefined)?.spec;
  return node === undefined ? undefined : { ...step, target: step.target.replace(nodeOf(app), node.nodeName ?? '') };
}

/** The pod of that name, the pods of that application, or those on that node (`@node-1`). */
export function podsOf({ cluster }: Scene, target: string): readonly string[] {
  const isMeant = (pod: Pod): boolean =>
    pod.metadata.namespace === 'default' &&
    (pod.metadata.name === target || appOf(pod) === target || `@${pod.spec.nodeName}` === target);
  return cluster.committed
    .list(PODS)
    .filter((pod) => isMeant(pod) && pod.metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name ?? '');
}
