import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodDisruptionBudget } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import type { Outcome } from '../decider.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, decideFully } from '../testing/cluster.ts';
import { createPodInfo, refreshPodInfo } from './pod-info.ts';

const NODES = ['n0', 'n1', 'n2', 'n3'];

const stepArbitrary = fc.oneof(
  fc.record({
    kind: fc.constant('arrive' as const),
    node: fc.constantFrom(...NODES),
    cpu: fc.constantFrom('1', '2'),
    priority: fc.integer({ min: 0, max: 2 }),
    app: fc.constantFrom('a', 'b'),
  }),
  fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }),
  fc.record({ kind: fc.constant('report' as const), which: fc.nat(), day: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant('promise' as const), node: fc.constantFrom(...NODES), cpu: fc.constantFrom('1', '2') }),
  fc.record({
    kind: fc.constant('decide' as const),
    cpu: fc.constantFrom('2', '4'),
    priority: fc.constantFrom(2, 3),
    apart: fc.boolean(),
    allowed: fc.constantFrom(undefined, 0, 1),
  }),
);
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;
type Question = Extract<Step, { kind: 'decide' }>;

function podOf({ cpu, priority, apart }: Question): Pod {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  return buildPod('incoming', { cpu, spec: { priority }, ...(apart ? { affinity } : {}) });
}

const budget = (disruptionsAllowed: number): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'b', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'a' } } },
  status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
});

/** A cluster with random changes, and its content for a fresh copy. */
class Life {
  readonly cluster = clusterOf(NODES.map((name) => buildNode(name, { cpu: '4' })));
  readonly promises: { readonly pod: Pod; readonly node: string }[] = [];
  #arrivals = 0;
  victims = 0;

  constructor() {
    for (const node of [...NODES, ...NODES]) this.#arrive({ kind: 'arrive', node, cpu: '2', priority: 1, app: 'a' });
  }

  take(step: Step): void {
    const placed = [...this.cluster.placedPods()];
    const chosen = 'which' in step ? placed[step.which % Math.max(1, placed.length)] : undefined;
    if (step.kind === 'arrive') this.#arrive(step);
    if (step.kind === 'promise') this.#promise(step);
    if (step.kind === 'decide') this.#ask(step);
    if (step.kind === 'leave' && chosen !== undefined) this.cluster.removePod(chosen.uid);
    if (step.kind !== 'report' || chosen === undefined) return;
    const status = { ...chosen.pod.status, startTime: `2026-01-0${step.day}T00:00:00Z` };
    this.cluster.setPod(refreshPodInfo(chosen, { ...chosen.pod, status }));
  }

  #arrive({ node, cpu, priority, app }: Extract<Step, { kind: 'arrive' }>): void {
    const name = `p${this.#arrivals++}`;
    this.cluster.setPod(createPodInfo(buildPod(name, { cpu, labels: { app }, nodeName: node, spec: { priority } })));
  }

  #promise({ node, cpu }: Extract<Step, { kind: 'promise' }>): void {
    const pod = buildPod(`promised-${node}`, { cpu, spec: { priority: 5 } });
    this.promises.push({ pod, node });
    this.cluster.nominations.set(createPodInfo(pod), node);
  }

  #ask(question: Question): void {
    const pod = podOf(question);
    const anew = clusterOf(
      this.cluster.nodes.map(({ node }) => node),
      [...this.cluster.placedPods()].map((placed) => placed.pod),
    );
    for (const promise of this.promises) anew.nominations.set(createPodInfo(promise.pod), promise.node);
    const budgets = question.allowed === undefined ? [] : [budget(question.allowed)];
    const [kept, fresh] = [this.cluster, anew].map((cluster) =>
      told(decideFully(cluster, pod, { budgets, random: createSeededRandom(1, 'ties') })),
    );
    assert.deepEqual(kept, fresh);
    this.victims += kept?.victims?.length ?? 0;
  }
}

function told(outcome: Outcome) {
  if (outcome.kind === 'place') return { node: outcome.nodeName };
  if (outcome.kind === 'error') return { message: outcome.message };
  if (outcome.preemption.kind === 'none') return { message: outcome.message };
  const { nodeName, victims, violations } = outcome.preemption.candidate;
  return { message: outcome.message, node: nodeName, victims: victims.map(({ name }) => name), violations };
}

test('decisions with shared results about victims equal those without them', () => {
  let victims = 0;
  fc.assert(
    fc.property(fc.array(stepArbitrary, { minLength: 10, maxLength: 40, size: 'max' }), (steps) => {
      const life = new Life();
      for (const step of steps) life.take(step);
      victims += life.victims;
    }),
    { numRuns: 150 },
  );
  assert.ok(victims > 50, 'the clusters were full often enough');
});
