import { readFileSync } from 'node:fs';
import type { Pod, PodSpec, Taint } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { buildNode, buildPod } from './builders.ts';
import { clusterOf, outcome } from './cluster.ts';

/**
 * Replays decisions recorded from another scheduler: `node replay-recorded.ts <file.json>`. Prints every case where ours differs
 * in its message, or picks a node that was never picked, and exits with 1 if there is one.
 */
interface Recorded {
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
    /** Keeps pods with this `app` label off its host. */
    readonly anti?: string;
  }[];
  readonly pod: PodSpec & { readonly labels: Readonly<Record<string, string>> };
  readonly expect: { readonly nodes?: Readonly<Record<string, number>>; readonly unschedulable?: string };
}

/** Enough draws to see every node of a tie in clusters of this size. */
const DRAWS = 40;

function replay(recorded: Recorded): readonly string[] {
  const nodes = recorded.nodes.map(({ name, memGi, cpu, ...rest }) =>
    buildNode(name, { ...rest, cpu: String(cpu), memory: `${memGi}Gi` }),
  );
  const cluster = clusterOf(nodes, recorded.placed.map(placedPod));
  const { labels, ...spec } = recorded.pod;
  const pod = buildPod('incoming', { labels, spec });
  const got = new Set(Array.from({ length: DRAWS }, (_, seed) => outcome(cluster, pod, createSeededRandom(seed, 't'))));
  const { unschedulable, nodes: chosen = {} } = recorded.expect;
  const allowed = unschedulable === undefined ? Object.keys(chosen) : [unschedulable];
  const missed = allowed.filter((each) => !got.has(each));
  if (missed.length === 0) return [];
  return [`${recorded.id}: got ${[...got].join(' | ')}`, `${recorded.id}: not ${missed.join(' | ')}`];
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

const [, , file = ''] = process.argv;
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recorded[];
const differences = recorded.map(replay).filter((lines) => lines.length > 0);
process.stdout.write(
  [...differences.flat(), `${recorded.length - differences.length}/${recorded.length} alike`, ''].join('\n'),
);
process.exitCode = differences.length === 0 ? 0 : 1;
