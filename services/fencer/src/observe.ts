import { NODES, type Node, PERSISTENT_VOLUMES, POD_DISRUPTION_BUDGETS, PODS } from '@holdfast/api';
import type { ApiClient, Informer } from '@holdfast/client';
import type { FenceSnapshot } from './domain/decide.ts';
import { isConcerned, signsOf } from './domain/partition.ts';
import type { Sightings } from './sightings.ts';

export interface ObserveDeps {
  readonly client: ApiClient;
  readonly nodes: Informer<Node>;
  readonly sightings: Sightings;
}

/**
 * Reads the input of the decision from the API itself, and only for the few unhealthy nodes. `undefined` means that
 * there is nothing to do.
 */
export async function observe(
  { client, nodes, sightings }: ObserveDeps,
  name: string,
): Promise<FenceSnapshot | undefined> {
  const cached = nodes.get({ name });
  const node = cached === undefined || !isConcerned(cached) ? undefined : await client.find(NODES, { name });
  if (node === undefined || !isConcerned(node)) {
    sightings.forget(name);
    return undefined;
  }
  const [pods, volumes, budgets] = await Promise.all([
    client.list(PODS, { fieldSelector: `spec.nodeName=${name}` }),
    client.list(PERSISTENT_VOLUMES),
    client.list(POD_DISRUPTION_BUDGETS),
  ]);
  return {
    node,
    pods: pods.items,
    volumes: volumes.items,
    budgets: budgets.items,
    otherNodes: nodes.list().filter(({ metadata }) => metadata.name !== name),
    partitionedSinceMs: sightings.partition(node, signsOf(node, pods.items).length > 0),
    claimSeenSinceMs: sightings.claim(node),
  };
}
