import { NAMESPACES } from '@holdfast/api';
import { SimCluster, type SimData } from '../cluster.ts';

const SEED = 1;
const NAMESPACE_COUNT = 4;
const UP_WITHIN_MS = 60_000;
const SETTLED_MS = 5_000;

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
  const cluster = new SimCluster({ seed: SEED, nodes: 0, identities: /^/ });
  const { kernel, committed } = cluster;
  cluster.start();
  const isUp = (): boolean => committed.list(NAMESPACES).length >= NAMESPACE_COUNT;
  await kernel.runUntil('the control plane starts', isUp, UP_WITHIN_MS);
  await kernel.runFor(SETTLED_MS);
  return cluster.data();
}
