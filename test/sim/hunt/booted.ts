import { NAMESPACES } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { SimCluster, type SimData } from '../cluster.ts';
import type { HuntPlan } from './plan.ts';

/** No seeds of a hunt, and one for each start: names and ids of what is there never meet those that a later start draws. */
const CONTROL_PLANE_SEED = 0;
const APPLICATIONS_SEED = -1;
const NAMESPACE_COUNT = 4;
const UP_WITHIN_MS = 60_000;
const SETTLED_MS = 5_000;
/** The share of seeds in which the applications are created: their first placement is drawn there. */
const CHANCE_OF_CREATION = 0.1;

let booted: Promise<SimData> | undefined;

/**
 * The data of a control plane that has started once. It is the same for every seed, and played once in a process: a
 * fifth of the writes of a seed would create the same roles again.
 */
export function bootedData(): Promise<SimData> {
  booted ??= boot();
  return booted;
}

async function boot(): Promise<SimData> {
  const cluster = new SimCluster({ seed: CONTROL_PLANE_SEED, nodes: 0, identities: /^/ });
  const { kernel, committed } = cluster;
  cluster.start();
  const isUp = (): boolean => committed.list(NAMESPACES).length >= NAMESPACE_COUNT;
  await kernel.runUntil('the control plane starts', isUp, UP_WITHIN_MS);
  await kernel.runFor(SETTLED_MS);
  return cluster.data();
}

const running = new Map<string, Promise<SimData | undefined>>();

/** Brings the applications of a plan up, and returns the cluster as it is then. */
export type BringUp = (plan: HuntPlan, data: SimData) => Promise<SimData>;

/**
 * What a seed starts on: nothing, a control plane, or a cluster whose applications run. Each cluster of a shape comes up
 * once in a process. A planted bug may prevent that: then the seed itself shows it.
 */
export async function startOf(plan: HuntPlan, bringUp: BringUp): Promise<SimData | undefined> {
  if (plan.startsEmpty === true) return undefined;
  const data = await bootedData();
  if (createSeededRandom(plan.seed, 'start').float() < CHANCE_OF_CREATION) return data;
  const shape = shapeOf(plan);
  const key = JSON.stringify(shape);
  const known = running.get(key) ?? bringUp(shape, data).catch(() => undefined);
  running.set(key, known);
  return (await known) ?? data;
}

/** A cluster that has come up shows nothing of the rest of a plan: faults, users, replicas of the control plane. */
const shapeOf = (plan: HuntPlan): HuntPlan => ({
  ...plan,
  seed: APPLICATIONS_SEED,
  apiServers: 1,
  schedulers: 1,
  managers: 1,
  hasFencer: false,
  isLeaderless: false,
  keepsEvents: false,
  isRested: false,
  isLarge: false,
  seconds: 0,
  steps: [],
});
