import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodDisruptionBudget } from '@holdfast/api';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, decideFully } from '../testing/cluster.ts';

interface Shape {
  readonly node: string;
  readonly cpu: number;
  readonly priority: number;
  readonly app: string;
  readonly start: number;
  readonly port: boolean;
}
/** Later than any start time. */
const NOT_STARTED = 4;
const shapes: fc.Arbitrary<Shape> = fc.record({
  node: fc.constantFrom('a', 'b', 'c'),
  cpu: fc.integer({ min: 1, max: 3 }),
  priority: fc.integer({ min: -1, max: 6 }),
  app: fc.constantFrom('x', 'y'),
  start: fc.integer({ min: 1, max: NOT_STARTED }),
  port: fc.boolean(),
});
type Named = Shape & { readonly name: string };
interface Incoming {
  readonly cpu: number;
  readonly port: boolean;
  readonly avoids: 'x' | 'y' | undefined;
}

const CAPACITY = 4;
const PRIORITY = 4;
const NODES = ['a', 'b', 'c'];

function containers(cpu: number, port: boolean): Pod['spec']['containers'] {
  const ports = port ? [{ containerPort: 80, hostPort: 80 }] : [];
  return [{ name: 'c', image: 'i', resources: { requests: { cpu: String(cpu) } }, ports }];
}

function placed({ name, node, cpu, priority, app, start, port }: Named): Pod {
  const pod = buildPod(name, {
    labels: { app },
    spec: { nodeName: node, priority, containers: containers(cpu, port) },
  });
  const since = start === NOT_STARTED ? {} : { startTime: `2026-01-0${start}T00:00:00Z` };
  const metadata = { ...pod.metadata, creationTimestamp: '2025-12-31T00:00:00Z' };
  return { ...pod, metadata, status: { ...pod.status, ...since } };
}

function incomingPod({ cpu, port, avoids }: Incoming): Pod {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: avoids ?? '' } } };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  const shape = { spec: { priority: PRIORITY, containers: containers(cpu, port) } };
  return buildPod('incoming', avoids === undefined ? shape : { ...shape, affinity });
}

const budgetOf = (app: string, disruptionsAllowed: number): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: app, namespace: 'default' },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
});

const fits = (here: readonly Named[], incoming: Incoming): boolean =>
  here.reduce((sum, { cpu }) => sum + cpu, incoming.cpu) <= CAPACITY &&
  !(incoming.port && here.some(({ port }) => port)) &&
  !here.some(({ app }) => app === incoming.avoids);

/**
 * Higher priority, then longer running. A pod that has not started gets the time of the comparison, so the first
 * compared one is earlier.
 */
function isMoreImportant(a: Named, b: Named): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  return a.start === NOT_STARTED && b.start === NOT_STARTED ? true : a.start < b.start;
}

/** Insertion sort, as Go's standard library sorts up to twelve items. */
function byImportance(pods: readonly Named[]): readonly Named[] {
  const sorted: Named[] = [];
  for (const pod of pods) {
    let at = sorted.length;
    for (let before = sorted[at - 1]; before !== undefined && isMoreImportant(pod, before); before = sorted[at - 1])
      at--;
    sorted.splice(at, 0, pod);
  }
  return sorted;
}

interface Choice {
  readonly node: string;
  readonly victims: readonly Named[];
  readonly violations: number;
}

/** The rules in their literal form, node by node. */
function choiceOn(
  node: string,
  pods: readonly Named[],
  options: { incoming: Incoming; allowed: number },
): Choice | undefined {
  const { incoming, allowed } = options;
  const here = pods.filter((pod) => pod.node === node);
  const removable = byImportance(here.filter(({ priority }) => priority < PRIORITY));
  if (removable.length === 0) return undefined;
  let kept = here.filter(({ priority }) => priority >= PRIORITY);
  if (!fits(kept, incoming)) return undefined;
  let left = allowed;
  const violating = new Set(removable.filter(({ app }) => app === 'x' && --left < 0));
  const victims: Named[] = [];
  for (const pod of [...violating, ...removable.filter((each) => !violating.has(each))]) {
    if (fits([...kept, pod], incoming)) kept = [...kept, pod];
    else victims.push(pod);
  }
  return {
    node,
    victims: byImportance(victims),
    violations: victims.filter((pod) => violating.has(pod)).length,
  };
}

/** Smaller is better, from left to right. */
function rank({ victims, violations }: Choice): readonly number[] {
  const highest = victims[0]?.priority ?? Number.NEGATIVE_INFINITY;
  const important = victims.filter(({ priority }) => priority === highest);
  return [
    violations,
    highest,
    victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
    victims.length,
    -Math.min(...important.map(({ start }) => start)),
  ];
}

function compare(a: Choice, b: Choice): number {
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((value, i) => value !== right[i]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

test('[PREEMPT-05] [PREEMPT-16] [PREEMPT-17] [PREEMPT-18] victims per node, budgets and the choice of the node equal the reference rules', () => {
  const incoming = fc.record({
    cpu: fc.integer({ min: 1, max: 4 }),
    port: fc.boolean(),
    avoids: fc.constantFrom<'x' | 'y' | undefined>('x', 'y', undefined),
  });
  let preempted = 0;
  fc.assert(
    fc.property(fc.array(shapes, { minLength: 3, maxLength: 9 }), incoming, fc.nat(2), (all, wanted, allowed) => {
      const pods = all.map((shape, i) => ({ ...shape, name: `p${i}` }));
      const cluster = clusterOf(
        NODES.map((name) => buildNode(name, { cpu: String(CAPACITY) })),
        pods.map(placed),
      );
      const decided = decideFully(cluster, incomingPod(wanted), { budgets: [budgetOf('x', allowed)] });
      const free = NODES.filter((node) =>
        fits(
          pods.filter((pod) => pod.node === node),
          wanted,
        ),
      );
      if (free.length > 0) {
        assert.ok(decided.kind === 'place' && free.includes(decided.nodeName));
        return;
      }
      const choices = NODES.flatMap((node) => choiceOn(node, pods, { incoming: wanted, allowed }) ?? []);
      const best = choices.toSorted(compare)[0];
      assert.ok(decided.kind === 'refuse');
      if (best === undefined) {
        assert.equal(decided.preemption.kind, 'none');
        return;
      }
      preempted++;
      assert.ok(decided.preemption.kind === 'preempt');
      const { nodeName, victims } = decided.preemption.candidate;
      const chosen = choices.find(({ node }) => node === nodeName);
      assert.ok(chosen !== undefined && compare(chosen, best) === 0, `${nodeName} instead of ${best.node}`);
      assert.deepEqual(victims.map(({ name }) => name).toSorted(), chosen.victims.map(({ name }) => name).toSorted());
    }),
    { numRuns: 400 },
  );
  assert.ok(preempted > 50, 'the clusters were full often enough');
});
