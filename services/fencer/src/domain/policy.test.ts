import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { budget, configuration, node, type PodSketch, pod, type RuleSketch, volume } from '../testing/builders.ts';
import { judge, type PolicyInput, toleratedSeconds, type Verdict } from './policy.ts';

const DB: RuleSketch = { name: 'databases', agent: 'power', podSelector: { matchLabels: { app: 'db' } } };

const input = (pods: readonly PodSketch[], more: Partial<PolicyInput> = {}): PolicyInput => ({
  node: node({ ready: 'Unknown' }),
  pods: pods.map(pod),
  volumes: [],
  budgets: [],
  ...more,
});

/** Returns `agent after seconds`, or `never`. */
const verdictText = (verdict: Verdict): string =>
  verdict.kind === 'never' ? 'never' : `${verdict.agent.name} after ${verdict.waitSeconds}`;

interface Row {
  readonly name: string;
  readonly rules: readonly RuleSketch[];
  readonly pods: readonly PodSketch[];
  readonly more?: Partial<PolicyInput>;
  readonly verdict: string;
}

const rows: readonly Row[] = [
  { name: 'no rule', rules: [], pods: [{}], verdict: 'never' },
  { name: 'no pod', rules: [DB], pods: [], verdict: 'never' },
  { name: 'a rule for other pods', rules: [DB], pods: [{ app: 'web' }], verdict: 'never' },
  { name: 'a rule for another namespace', rules: [{ ...DB, namespaces: ['prod'] }], pods: [{}], verdict: 'never' },
  { name: 'only pods that have ended', rules: [DB], pods: [{ phase: 'Succeeded' }], verdict: 'never' },
  { name: 'a pod that tolerates nothing', rules: [DB], pods: [{}], verdict: 'power after 0' },
  { name: 'what the pod tolerates', rules: [DB], pods: [{ tolerates: 300 }], verdict: 'power after 300' },
  { name: 'a pod that may stay for ever', rules: [DB], pods: [{ tolerates: 'for ever' }], verdict: 'never' },
  {
    name: 'the least patient of several pods',
    rules: [DB],
    pods: [{ tolerates: 300 }, { tolerates: 20 }, { tolerates: 'for ever' }],
    verdict: 'power after 20',
  },
  {
    name: 'the rule knows better than the pod',
    rules: [{ ...DB, afterSeconds: 60 }],
    pods: [{ tolerates: 'for ever' }],
    verdict: 'power after 60',
  },
  { name: 'too low a priority', rules: [{ ...DB, minPriority: 10 }], pods: [{ priority: 9 }], verdict: 'never' },
  {
    name: 'priority enough',
    rules: [{ ...DB, minPriority: 10 }],
    pods: [{ priority: 9 }, { priority: 10, tolerates: 5 }],
    verdict: 'power after 5',
  },
  {
    name: 'a budget with room',
    rules: [DB],
    pods: [{ tolerates: 300 }],
    more: { budgets: [budget(1)] },
    verdict: 'power after 300',
  },
  {
    name: 'an exhausted budget shortens the wait',
    rules: [DB],
    pods: [{ tolerates: 300 }],
    more: { budgets: [budget(0)] },
    verdict: 'power after 30',
  },
  {
    name: 'a budget that nobody has counted yet does not',
    rules: [DB],
    pods: [{ tolerates: 300 }],
    more: { budgets: [{ ...budget(0), metadata: { ...budget(0).metadata, generation: 1 } }] },
    verdict: 'power after 300',
  },
  {
    name: 'to what the rule says, and never lengthens it',
    rules: [{ ...DB, whenExhaustedSeconds: 90 }],
    pods: [{ tolerates: 20 }],
    more: { budgets: [budget(0)] },
    verdict: 'power after 20',
  },
  {
    name: 'the budget of other pods',
    rules: [DB],
    pods: [{ tolerates: 300 }],
    more: { budgets: [budget(0, 'web')] },
    verdict: 'power after 300',
  },
  {
    name: 'the first rule that matches a pod counts',
    rules: [
      { ...DB, afterSeconds: 600 },
      { name: 'all', agent: 'power', afterSeconds: 1 },
    ],
    pods: [{}],
    verdict: 'power after 600',
  },
  {
    name: 'storage, without a volume of it',
    rules: [{ ...DB, agent: 'firewall' }],
    pods: [{}],
    verdict: 'never',
  },
  {
    name: 'storage, with a volume that the pod holds there',
    rules: [{ ...DB, agent: 'firewall' }],
    pods: [{}],
    more: { volumes: [volume('disk', 'a', [pod()])] },
    verdict: 'firewall after 0',
  },
  {
    name: 'storage, with a volume that has a way by another server, too',
    rules: [{ ...DB, agent: 'firewall' }],
    pods: [{}],
    more: { volumes: [volume('disk', 'a', [pod()], ['other.example:3260'])] },
    verdict: 'never',
  },
  {
    name: 'storage, with a volume that is attached elsewhere',
    rules: [{ ...DB, agent: 'firewall' }],
    pods: [{}],
    more: { volumes: [volume('disk', 'b', [pod()])] },
    verdict: 'never',
  },
];

for (const { name, rules, pods, more, verdict } of rows) {
  test(`[FENCE-04] ${name}: ${verdict}`, () => {
    assert.equal(verdictText(judge(configuration(rules), input(pods, more))), verdict);
  });
}

test('[FENCE-04] the shortest of several tolerations counts; one of another taint or effect does not', () => {
  const base = pod();
  const unreachable = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
  const waits = (...tolerations: NonNullable<typeof base.spec.tolerations>): number =>
    toleratedSeconds({ ...base, spec: { ...base.spec, tolerations } });
  assert.equal(waits({ ...unreachable, tolerationSeconds: 60 }, { operator: 'Exists', tolerationSeconds: 20 }), 20);
  assert.equal(waits({ ...unreachable, tolerationSeconds: 60 }, unreachable), 60);
  assert.equal(waits({ ...unreachable, tolerationSeconds: -5 }), 0);
  assert.equal(waits({ ...unreachable, effect: 'NoSchedule' }), 0);
  assert.equal(waits({ ...unreachable, key: 'node.kubernetes.io/not-ready' }), 0);
});

test('[FENCE-04] the reason names rule, pod, priority and budget', () => {
  const met = input([{ tolerates: 300, priority: 7 }], { budgets: [budget(0)] });
  assert.equal(
    judge(configuration([DB]), met).why,
    'rule databases: pod default/db-0 (priority 7), whose disruption budget is exhausted, waits 30 s',
  );
});

const anyPod = fc.record({
  app: fc.constantFrom('db', 'web'),
  priority: fc.integer({ min: 0, max: 3 }),
  phase: fc.constantFrom('Running', 'Pending', 'Failed'),
  tolerates: fc.oneof(fc.nat(600), fc.constant('for ever' as const)),
});
const anyRule = fc.record({
  agent: fc.constant('power'),
  minPriority: fc.integer({ min: 0, max: 3 }),
  podSelector: fc.constantFrom({ matchLabels: { app: 'db' } }, { matchLabels: { app: 'web' } }),
});

const waitOf = (verdict: Verdict): number =>
  verdict.kind === 'never' ? Number.POSITIVE_INFINITY : verdict.waitSeconds;

test('[FENCE-04] with any rules and pods: more pods and tighter budgets never lengthen the wait, in any order of pods', () => {
  const situation = fc.tuple(fc.array(anyRule, { maxLength: 4 }), fc.array(anyPod, { maxLength: 6 }), fc.nat(1));
  fc.assert(
    fc.property(situation, ([rules, pods, disruptionsAllowed]) => {
      const config = configuration(rules);
      const met = input(pods, { budgets: [budget(disruptionsAllowed)] });
      const wait = waitOf(judge(config, met));
      assert.ok(wait >= waitOf(judge(config, { ...met, budgets: [budget(0)] })));
      assert.ok(wait <= waitOf(judge(config, { ...met, pods: met.pods.slice(1) })));
      assert.equal(wait, waitOf(judge(config, { ...met, pods: met.pods.toReversed() })));
      if (rules.length === 0 || pods.every(({ phase }) => phase === 'Failed')) assert.equal(wait, Infinity);
    }),
    { numRuns: 300 },
  );
});
