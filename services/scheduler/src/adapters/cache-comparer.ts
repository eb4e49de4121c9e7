import { isPodFinished, NODES, PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type ClusterCache } from '../domain/cluster-cache.ts';

/** Empty lists mean that the cache is correct. Changes in flight may appear once. */
export interface CacheComparison {
  readonly nodes: Difference;
  /** Bound pods, `namespace/name uid`. */
  readonly pods: Difference & { readonly onOtherNode: readonly string[] };
  /** Pods that count as bound although the API has not confirmed that yet. */
  readonly assumed: readonly string[];
}

interface Difference {
  readonly missing: readonly string[];
  readonly redundant: readonly string[];
}

/** Compares the cache with the current state of the API. */
export async function compareCache(client: ApiClient, cache: ClusterCache): Promise<CacheComparison> {
  const nodes = await client.list(NODES);
  const pods = await client.list(PODS);
  const bound = new Map(
    pods.items
      .filter((pod) => (pod.spec.nodeName ?? '') !== '' && !isPodFinished(pod))
      .map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name} ${metadata.uid}`, spec.nodeName ?? '']),
  );
  const placed = [...cache.placedPods()];
  const cached = new Map(placed.map((pod) => [`${pod.key} ${pod.uid}`, pod]));
  const assumed = placed.filter(({ uid }) => cache.isAssumed(uid)).map(({ key, uid }) => `${key} ${uid}`);
  const difference = differ(new Set(bound.keys()), new Set(cached.keys()));
  return {
    nodes: differ(new Set(nodes.items.map(({ metadata }) => metadata.name ?? '')), namesOf(cache)),
    pods: {
      missing: difference.missing,
      redundant: difference.redundant.filter((key) => !assumed.includes(key)),
      onOtherNode: [...bound].flatMap(([key, nodeName]) => {
        const pod = cached.get(key);
        return pod === undefined || pod.nodeName === nodeName ? [] : [key];
      }),
    },
    assumed,
  };
}

const namesOf = ({ nodes }: ClusterCache): ReadonlySet<string> => new Set(nodes.map(({ name }) => name));

function differ(actual: ReadonlySet<string>, cached: ReadonlySet<string>): Difference {
  return { missing: [...actual.difference(cached)], redundant: [...cached.difference(actual)] };
}
