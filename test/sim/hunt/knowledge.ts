import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  NODES,
  PERSISTENT_VOLUMES,
  PODS,
  REPLICA_SETS,
  type ResourceRef,
  SERVICE_ACCOUNTS,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import { SimulationFailure } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';

export interface Follower {
  readonly kind: ResourceRef<KubeObject>;
  readonly informer: Informer<KubeObject>;
}

/** Kinds that rest when the cluster does. */
export const FOLLOWED: readonly ResourceRef<KubeObject>[] = [PODS, CONFIG_MAPS, REPLICA_SETS, JOBS];
const SERVED: readonly ResourceRef<KubeObject>[] = [
  ...FOLLOWED,
  DEPLOYMENTS,
  STATEFUL_SETS,
  SERVICE_ACCOUNTS,
  PERSISTENT_VOLUMES,
  NODES,
];

/** After a long quiet, whoever follows a kind knows it as it is stored. */
export function checkFollowers(cluster: SimCluster, followers: readonly Follower[]): void {
  for (const { kind, informer } of followers) {
    const stored = inWords(cluster.committed.list(kind));
    const wrong = differences(stored, stored, inWords(informer.list()));
    fail(cluster, 'who follows a kind knows it as it is stored', wrong);
  }
}

/** Every API server shows each object as it is stored. What changes while it is asked may be shown in either way. */
export async function checkServed(cluster: SimCluster): Promise<void> {
  for (const party of cluster.apiParties) {
    const user = cluster.userOf(party);
    for (const kind of SERVED) {
      const before = inWords(cluster.committed.list(kind));
      const { items } = await cluster.ask(user.list(kind));
      const wrong = differences(before, inWords(cluster.committed.list(kind)), inWords(items));
      fail(cluster, 'an API server shows what is stored', wrong.length === 0 ? [] : [`${party}:`, ...wrong]);
    }
  }
}

function fail({ kernel }: SimCluster, oracle: string, wrong: readonly string[]): void {
  if (wrong.length === 0) return;
  const story = `stored or seen only: ${wrong.join(', ')}`;
  throw new SimulationFailure({ oracle, seed: kernel.seed, atMs: kernel.elapsedMs, story });
}

/** What was there before and after has to be seen, and nothing else may be. */
export function differences(
  before: readonly string[],
  after: readonly string[],
  seen: readonly string[],
): readonly string[] {
  const missing = before.filter((each) => after.includes(each) && !seen.includes(each));
  return [...missing, ...seen.filter((each) => !before.includes(each) && !after.includes(each))].toSorted();
}

/** With their revisions. */
export const inWords = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name} at ${metadata.resourceVersion}`);
