import { createSeededRandom } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { createPodInfo } from '../services/scheduler/src/domain/pod-info.ts';
import { schedule } from '../services/scheduler/src/domain/schedule.ts';
import { clusterOf, deciderFor, profileFor } from '../services/scheduler/src/testing/cluster.ts';
import { printFigure } from './lib/figures.ts';
import { SHAPES, type Shape, schedulingNode, schedulingPod } from './lib/scheduling-objects.ts';

/** The scheduler's decisions alone, without an API: pods are decided one by one and placed accordingly. */
const SETTINGS = {
  nodes: { kind: 'integer', help: 'Nodes', default: 1000, min: 1 },
  pods: { kind: 'integer', help: 'Pods', default: 5000, min: 1 },
  preemptions: { kind: 'integer', help: 'Preemptions on full nodes', default: 500, min: 0 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/scheduling-decisions.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
for (const shape of SHAPES) decisionsRow(shape);
refusalsRow();
if (settings.preemptions > 0) preemptionsRow();

function decisionsRow(shape: Shape): void {
  const { nodes, pods } = settings;
  const cluster = clusterOf(Array.from({ length: nodes }, (_, i) => schedulingNode(i)));
  const infos = Array.from({ length: pods }, (_, i) => createPodInfo(schedulingPod(shape, i)));
  const profile = profileFor(cluster);
  const random = createSeededRandom(1, 'bench');
  const before = process.cpuUsage();
  let startAt = 0;
  let placed = 0;
  for (const info of infos) {
    const decision = schedule(cluster, info, { profile, random, startAt });
    if (decision.kind === 'refuse') continue;
    startAt = (startAt + decision.looked) % nodes;
    cluster.assume(info, decision.nodeName);
    placed++;
  }
  report(`decide, ${shape}`, before, `${placed} of ${pods} pods placed on ${nodes} nodes`, pods);
}

/** Equal pods that fit nowhere, including preemption. */
function refusalsRow(): void {
  const { nodes, pods } = settings;
  const full = Array.from({ length: nodes * 4 }, (_, k) => schedulingPod('filler', k, `node-${Math.floor(k / 4)}`));
  const cluster = clusterOf(
    Array.from({ length: nodes }, (_, i) => schedulingNode(i)),
    full,
  );
  const decide = deciderFor(cluster, { random: createSeededRandom(1, 'bench') });
  const infos = Array.from({ length: pods }, (_, i) => createPodInfo(schedulingPod('filler', nodes * 4 + i)));
  const before = process.cpuUsage();
  let refused = 0;
  for (const pod of infos) {
    const outcome = decide(pod);
    if (!(outcome instanceof Promise) && outcome.kind === 'refuse') refused++;
  }
  report('refuse', before, `${refused} of ${pods} on ${nodes} full nodes`, pods);
}

function preemptionsRow(): void {
  const { nodes, preemptions } = settings;
  const names = Array.from({ length: nodes }, (_, i) => i);
  const full = names.flatMap((i) =>
    Array.from({ length: 4 }, (_, k) => schedulingPod('filler', i * 4 + k, `node-${i}`)),
  );
  const cluster = clusterOf(names.map(schedulingNode), full);
  const random = createSeededRandom(1, 'bench');
  const infos = Array.from({ length: preemptions }, (_, i) => createPodInfo(schedulingPod('important', i)));
  const decide = deciderFor(cluster, { random });
  const before = process.cpuUsage();
  let made = 0;
  for (const pod of infos) {
    const outcome = decide(pod);
    if (outcome instanceof Promise || outcome.kind !== 'refuse' || outcome.preemption.kind !== 'preempt') continue;
    const { victims, nodeName } = outcome.preemption.candidate;
    for (const { uid } of victims) cluster.removePod(uid);
    cluster.assume(pod, nodeName);
    made++;
  }
  report('preempt', before, `${made} of ${preemptions} on ${nodes} full nodes`, preemptions);
}

function report(row: string, before: NodeJS.CpuUsage, note: string, operations: number): void {
  const { user, system } = process.cpuUsage(before);
  printFigure({ row, value: (user + system) / operations, unit: 'us of CPU', note });
}
