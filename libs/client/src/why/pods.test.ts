import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerState, Event, Lease, Node, Pod } from '@holdfast/api';
import { SELF_FENCING, SELF_FENCING_BROKEN } from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import { isWait } from './finding.ts';
import { explainPod } from './pod.ts';
import type { PodFacts } from './pod-facts.ts';
import { paragraphOf } from './text.ts';

const NOW = parseTime('2026-01-01T00:10:00Z') ?? 0;
const BEFORE = '2026-01-01T00:09:30Z';

interface Given {
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Partial<Pod['spec']>;
  readonly status?: Pod['status'];
}

const pod = ({ metadata, spec, status }: Given = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db-1', namespace: 'default', uid: 'u', ...metadata },
  spec: { containers: [{ name: 'main', image: 'app', resources: {} }], ...spec },
  status: { phase: 'Pending', ...status },
});

const node = (ready: string, extra: Partial<Node['spec']> = {}): Node =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-2' },
    spec: extra,
    status: { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: '2026-01-01T00:08:00Z' }] },
  }) as unknown as Node;

const lease = (annotations: Record<string, string>): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'node-2', annotations },
  spec: { leaseDurationSeconds: 8, renewTime: '2026-01-01T00:09:57.000000Z' },
});

const event = (reason: string, message: string): Event => ({ reason, message, type: 'Warning' }) as unknown as Event;

const facts = (given: Given, more: Partial<PodFacts> = {}): PodFacts => ({
  pod: pod(given),
  node: node('True'),
  lease: 'absent',
  claims: [],
  events: [],
  budgets: [],
  ...more,
});

const unscheduled = (message: string): Given => ({
  status: {
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: BEFORE },
    ],
  },
});

const withContainer = (state: ContainerState, lastState: ContainerState = {}): Given => ({
  spec: { nodeName: 'node-2' },
  status: {
    containerStatuses: [{ name: 'main', image: 'app:1', imageID: '', ready: false, restartCount: 4, state, lastState }],
  },
});
const waiting = (reason: string, message?: string): Given =>
  withContainer({ waiting: { reason, ...(message === undefined ? {} : { message }) } });

const OWNER = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 's', controller: true };
const ending = (deletionTimestamp: string, metadata: Partial<Pod['metadata']> = {}): Given => ({
  metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30, ownerReferences: [OWNER], ...metadata },
  spec: { nodeName: 'node-2', hostname: 'db-1' },
});
const LONG_AGO = '2026-01-01T00:05:00Z';

const CASES: readonly (readonly [string, PodFacts, RegExp])[] = [
  [
    'reasons of the scheduler',
    facts(
      unscheduled(
        '0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. preemption: none',
      ),
    ),
    /waits: none of the 3 nodes fits: 1 node\(s\) had untolerated taint \{a: b\}, 2 Insufficient cpu\. The wait ends when pods that use cpu end, a node with more cpu joins.*the taint \{a: b\} is removed.* waited for 30s/,
  ],
  ['no node at all', facts(unscheduled('no nodes available to schedule pods')), /ends when a node joins/],
  [
    'no scheduler',
    facts({ spec: { schedulerName: 'own' } }),
    /no scheduler has tried.*a scheduler of the name own runs/,
  ],
  [
    'scheduling gates',
    facts({ spec: { schedulingGates: [{ name: 'a/b' }] } }),
    /gates keep the scheduler from it: a\/b/,
  ],
  ['preemption', facts({ status: { nominatedNodeName: 'n' } }), /evicted pods of lower priority on node n/],
  [
    'an image',
    facts(waiting('ImagePullBackOff', 'Back-off pulling image "app:1"')),
    /container main waits for its image app:1: Back-off.*image of the pod is corrected/,
  ],
  [
    'a missing ConfigMap',
    facts(waiting('CreateContainerConfigError', 'configmap "c" not found')),
    /cannot be configured: configmap "c" not found\. The wait ends when what it names exists/,
  ],
  [
    'a volume of a missing Secret',
    facts(waiting('ContainerCreating'), { events: [event('FailedMount', 'secret "s" not found')] }),
    /cannot start on node node-2: secret "s" not found\. The wait ends when secret s is made/,
  ],
  [
    'an attachment',
    facts(waiting('ContainerCreating'), {
      events: [event('FailedAttachVolume', 'Volume is already used by pod(s) db-0')],
    }),
    /already used by pod\(s\) db-0\. The wait ends when the pods that use the volume have ended.*breaks the attachment/,
  ],
  [
    'a crash loop',
    facts(
      withContainer(
        { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 1m20s restarting failed container=main' } },
        { terminated: { exitCode: 3, reason: 'Error', finishedAt: BEFORE, message: 'no disk\nbye\n' } },
      ),
    ),
    /4 restarts\), last with exit code 3 \(Error\); its last words: "no disk \| bye"; its next restart is in 50s, at 2026-01-01T00:10:50Z.*kubectl logs db-1 -n default -c main --previous/,
  ],
  [
    'memory',
    facts(
      withContainer(
        { waiting: { reason: 'CrashLoopBackOff' } },
        { terminated: { exitCode: 137, reason: 'OOMKilled' } },
      ),
    ),
    /more memory than its limit; its next restart is soon/,
  ],
  [
    'a probe',
    facts(withContainer({ running: { startedAt: BEFORE } }), {
      events: [event('Unhealthy', 'Readiness probe failed: 503')],
    }),
    /runs, but its readiness probe has not succeeded \(Readiness probe failed: 503\)/,
  ],
  [
    'a kubelet that has not begun',
    facts({ spec: { nodeName: 'node-2' } }),
    /kubelet of node node-2 has not started it yet/,
  ],
  [
    'a lost node',
    facts({ spec: { nodeName: 'node-2' } }, { node: node('Unknown') }),
    /node node-2 is cut off since 2026-01-01T00:08:00Z; the pod may still run there/,
  ],
  ['the grace period', facts(ending('2026-01-01T00:10:12Z')), /have 12s of their grace period left.* waited for 18s/],
  [
    'a node that confirms nothing',
    facts(ending(LONG_AGO), { events: [event('FailedKillPod', 'stuck')] }),
    /although the grace period is over for 5m \(FailedKillPod: stuck\)/,
  ],
  [
    'a node that is cut off',
    facts(ending(LONG_AGO), { node: node('Unknown') }),
    /db-1 waits: node node-2 has not confirmed that its processes ended; it may be running \(node-2 is cut off since.*StatefulSet db makes no other pod of this name before that\. The wait ends when node-2 is back.*out-of-service/,
  ],
  [
    'a promise in force',
    facts(ending(LONG_AGO), { node: node('Unknown'), lease: lease({ [SELF_FENCING]: 'exclusive' }) }),
    /its watchdog ends the pod in 5s unless/,
  ],
  [
    'a promise that took effect',
    facts(ending(LONG_AGO), {
      node: node('Unknown'),
      lease: lease({ [SELF_FENCING]: 'exclusive', [SELF_FENCING_BROKEN]: 'x' }),
    }),
    /watchdog of node node-2 has ended its processes; the pod garbage collector has to remove it/,
  ],
  [
    'a node that was declared dead',
    facts(ending(LONG_AGO), {
      node: node('Unknown', { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] }),
    }),
    /was declared out of service; the pod garbage collector/,
  ],
  ['a deleted Node', facts(ending(LONG_AGO), { node: 'absent' }), /node node-2 does not exist any more/],
  [
    'finalizers',
    facts({ ...ending(LONG_AGO, { finalizers: ['a/b'] }), status: { phase: 'Succeeded' } }),
    /its finalizers hold it: a\/b\. The wait ends when the programs that own/,
  ],
];

for (const [title, given, says] of CASES) {
  test(`a pod waits for ${title}`, () => {
    const finding = explainPod(given, NOW);
    assert.ok(isWait(finding));
    assert.match(paragraphOf({ subject: 'pod default/db-1', finding, unread: [] }, NOW), says);
  });
}

test('a node that the user may not read proves no loss', () => {
  const finding = explainPod(facts(ending(LONG_AGO), { node: 'unread' }), NOW);
  assert.match(
    paragraphOf({ subject: 'pod default/db-1', finding, unread: ['nodes'] }, NOW),
    /node node-2 has to confirm.*You may not read nodes/,
  );
});

test('a pod that is ready or has ended waits for nothing, and a budget that forbids its eviction is named', () => {
  const ready: Given = {
    spec: { nodeName: 'node-2' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const budget = {
    metadata: { name: 'b' },
    status: { disruptionsAllowed: 0 },
  } as unknown as PodFacts['budgets'][number];
  const text = (given: PodFacts) => paragraphOf({ subject: 'pod x', finding: explainPod(given, NOW), unread: [] }, NOW);
  assert.equal(text(facts(ready)), 'pod x waits for nothing: it runs on node node-2 and is ready.');
  const crashed = (finishedAt: string): PodFacts => {
    const lastState = { terminated: { exitCode: 1, reason: 'Error', finishedAt } };
    const containerStatuses = [{ name: 'main', restartCount: 2, lastState, state: { running: {} } }];
    return facts({ ...ready, status: { ...ready.status, containerStatuses } } as Given);
  };
  assert.match(
    text(crashed('2026-01-01T00:09:53Z')),
    /is ready, but container main ended 7s ago with exit code 1 \(Error\) \(2 restarts\)\.$/,
  );
  assert.match(text(crashed('2025-12-31T23:59:59Z')), /is ready\.$/);
  assert.match(
    text(facts(ready, { budgets: [budget] })),
    /an eviction is refused at the moment by the disruption budget b\.$/,
  );
  assert.match(
    text(facts({ status: { phase: 'Failed', reason: 'Evicted' } })),
    /it has ended in phase Failed \(Evicted\)/,
  );
});

test('texts of others are printed on one line, without control characters, at a bounded length', () => {
  const finding = explainPod(facts(waiting('CreateContainerError', `a\u001b[2J\nb${'x'.repeat(5_000)}`)), NOW);
  const text = paragraphOf({ subject: 'pod x', finding, unread: [] }, NOW);
  assert.ok(text.length < 1_500 && !text.includes('\u001b') && !text.includes('\n'), text);
});
