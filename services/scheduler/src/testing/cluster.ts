import type { Node, Pod } from '@holdfast/api';
import { createSeededRandom, type Random } from '@holdfast/platform';
import { ClusterCache } from '../domain/cluster-cache.ts';
import { fitMessage } from '../domain/fit-message.ts';
import { createPodInfo } from '../domain/pod-info.ts';
import { preempt } from '../domain/preemption.ts';
import { type Decision, schedule } from '../domain/schedule.ts';
import { createDefaultPlugins } from '../plugins/registry.ts';

export function clusterOf(nodes: readonly Node[], pods: readonly Pod[] = []): ClusterCache {
  const cache = new ClusterCache();
  for (const node of nodes) cache.setNode(node);
  for (const pod of pods) cache.setPod(createPodInfo(pod));
  return cache;
}

export function decide(cluster: ClusterCache, pod: Pod, random: Random = createSeededRandom(1, 'ties')): Decision {
  return schedule(cluster, createPodInfo(pod), { plugins: createDefaultPlugins(), random });
}

/** What the user is told, or the name of the node. */
export function outcome(cluster: ClusterCache, pod: Pod, random?: Random): string {
  const decision = decide(cluster, pod, random);
  if (decision.kind === 'place') return decision.nodeName;
  const fit = fitMessage(cluster.nodes.length, decision.rejections.values());
  const options = { plugins: createDefaultPlugins(), budgets: [], random: createSeededRandom(1, 'start') };
  const preemption = preempt(cluster, createPodInfo(pod), decision, options);
  return preemption.kind === 'none' ? `${fit} ${preemption.message}` : fit;
}
