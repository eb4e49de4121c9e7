import type { Pod, PodSpec, Taint } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { totalScores } from '../domain/choose-node.ts';
import { createPodInfo } from '../domain/pod-info.ts';
import { findFeasible } from '../domain/schedule.ts';
import { buildNode, buildPod } from './builders.ts';
import { clusterOf, outcome, profileFor } from './cluster.ts';

/** A recorded decision: a small cluster, one more pod, and the result. */
export interface Recorded {
  readonly id: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly cpu: number;
    readonly memGi: number;
    readonly pods: number;
    readonly taints: readonly Taint[];
    readonly unschedulable: boolean;
  }[];
  readonly placed: readonly {
    readonly name: string;
    readonly node: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly cpuM: number;
    readonly memMi: number;
    /** Repels pods with this `app` label from its host. */
    readonly anti?: string;
  }[];
  readonly pod: PodSpec & { readonly labels: Readonly<Record<string, string>> };
  /** How often each node was chosen, or why none was. */
  readonly expect: { readonly nodes?: Readonly<Record<string, number>>; readonly unschedulable?: string };
}

/** Enough draws to see every tied node in clusters of this size. */
const DRAWS = 40;

/**
 * Returns the differences. Messages must be equal. Each node that the other scheduler chose must be among ours, and
 * each of ours among its nodes unless the total scores are equal.
 */
export function differences(recorded: Recorded): readonly string[] {
  const nodes = recorded.nodes.map(({ name, memGi, cpu, ...rest }) =>
    buildNode(name, { ...rest, cpu: String(cpu), memory: `${memGi}Gi` }),
  );
  const cluster = clusterOf(nodes, recorded.placed.map(placedPod));
  const { labels, ...spec } = recorded.pod;
  const pod = buildPod('incoming', { labels, spec });
  const got = new Set(Array.from({ length: DRAWS }, (_, seed) => outcome(cluster, pod, createSeededRandom(seed, 't'))));
  const { unschedulable, nodes: chosen = {} } = recorded.expect;
  const expected = new Set(unschedulable === undefined ? Object.keys(chosen) : [unschedulable]);
  const missed = [...expected.difference(got)].map((each) => `${recorded.id}: never ${each}`);
  const ties = unschedulable === undefined ? equals(cluster, pod, expected) : expected;
  return [...missed, ...[...got.difference(ties)].map((each) => `${recorded.id}: wrongly ${each}`)];
}

/** Returns the nodes with the same total score as one of these. */
function equals(cluster: ReturnType<typeof clusterOf>, pod: Pod, chosen: ReadonlySet<string>): ReadonlySet<string> {
  const cycle = { pod: createPodInfo(pod), snapshot: cluster };
  const profile = profileFor(cluster);
  const found = findFeasible(cycle, { profile, random: createSeededRandom(1, 't') });
  if (found.kind === 'refuse') return chosen;
  const totals = totalScores(cycle, found.feasible, { profile });
  const allowed = new Set(totals.filter((_, i) => chosen.has(found.feasible[i]?.name ?? '')));
  return new Set(found.feasible.filter((_, i) => allowed.has(totals[i] ?? -1)).map(({ name }) => name));
}

function placedPod({ name, node, labels, cpuM, memMi, anti }: Recorded['placed'][number]): Pod {
  const requests = { nodeName: node, labels, cpu: `${cpuM}m`, memory: `${memMi}Mi` };
  if (anti === undefined) return buildPod(name, requests);
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: anti } } };
  return buildPod(name, {
    ...requests,
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
}
