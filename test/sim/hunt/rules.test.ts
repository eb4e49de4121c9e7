import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, Node, PersistentVolume, Pod } from '@holdfast/api';
import { volumeInUse } from '@holdfast/api';
import { BudgetRule } from './budget-rule.ts';
import { COMMIT_RULES, CommitOracle, type CommittedChange } from './commit-rules.ts';
import { Living } from './living.ts';
import { RateRule } from './rate-rule.ts';
import { RoomRule } from './room-rule.ts';
import { mayJudgeGrace } from './rules.ts';
import { StartRule } from './start-rule.ts';
import { hasStrayed, isAdoptable } from './strays.ts';
import { isComplete } from './whole.ts';

const pod = (over: { metadata?: object; spec?: object; status?: object } = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', uid: 'one', ...over.metadata },
    spec: { nodeName: 'node-1', containers: [], ...over.spec },
    status: { phase: 'Running', ...over.status },
  }) as Pod;
const deleted = (seconds: number) => ({
  deletionTimestamp: '2026-01-01T00:00:00Z',
  deletionGracePeriodSeconds: seconds,
});
const node = (over: object = {}): Node =>
  ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1', uid: 'n' }, spec: {}, status: {}, ...over }) as Node;
const disk = (nodeName?: string, fencingToken = 0): PersistentVolume =>
  ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk', uid: 'd' },
    spec: {},
    status: {
      fencingToken,
      ...(nodeName === undefined ? {} : { attachment: { nodeName, nodeUID: 'n', pods: [] } }),
    },
  }) as unknown as PersistentVolume;

interface Case {
  readonly change: Partial<CommittedChange>;
  readonly broken: boolean;
}
const changed = (before: KubeObject, after: KubeObject | undefined, more: Partial<CommittedChange> = {}) => ({
  before,
  after,
  last: after ?? before,
  ...more,
});
const inUse = {
  nodeOf: () => node({ status: { volumesInUse: [volumeInUse('disk', 'one')] } }),
  resource: 'persistentvolumes',
};

/** For each rule, one allowed and one forbidden commit. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  'a bound pod stays on its node': [
    { change: changed(pod({ spec: { nodeName: undefined } }), pod()), broken: false },
    { change: changed(pod(), pod({ spec: { nodeName: 'node-2' } })), broken: true },
  ],
  'a phase never goes back': [
    { change: changed(pod({ status: { phase: 'Pending' } }), pod()), broken: false },
    { change: changed(pod(), pod({ status: { phase: 'Pending' } })), broken: true },
    { change: changed(pod({ status: { phase: 'Failed' } }), pod()), broken: true },
  ],
  'a deletion is never undone': [
    { change: changed(pod(), pod({ metadata: deleted(30) })), broken: false },
    { change: changed(pod({ metadata: deleted(30) }), pod()), broken: true },
  ],
  'grace is only shortened': [
    { change: changed(pod({ metadata: deleted(30) }), pod({ metadata: deleted(5) })), broken: false },
    { change: changed(pod({ metadata: deleted(5) }), pod({ metadata: deleted(30) })), broken: true },
  ],
  'a name keeps its uid until it is removed': [
    { change: changed(pod(), undefined), broken: false },
    { change: changed(pod(), pod({ metadata: { uid: 'two' } })), broken: true },
  ],
  'what has finalizers is not removed': [
    { change: changed(pod({ metadata: { finalizers: ['a/b'] } }), undefined, { last: pod() }), broken: false },
    { change: changed(pod({ metadata: { finalizers: ['a/b'] } }), undefined), broken: true },
  ],
  'only its node or a user removes a running pod': [
    { change: changed(pod(), undefined, { by: 'system:node:node-1' }), broken: false },
    { change: changed(pod(), undefined, { by: 'admin' }), broken: false },
    { change: changed(pod(), undefined, { by: 'system:node:node-2' }), broken: true },
    { change: changed(pod(), undefined, { by: 'system:kube-controller-manager' }), broken: true },
    { change: changed(pod(), pod({ metadata: deleted(0) }), { by: 'system:kube-controller-manager' }), broken: true },
    { change: changed(pod({ metadata: deleted(0) }), undefined, { by: 'somebody' }), broken: false },
  ],
  'a node removes only what is being deleted': [
    { change: changed(pod({ metadata: deleted(30) }), undefined, { by: 'system:node:node-1' }), broken: false },
    { change: changed(pod(), undefined, { by: 'admin' }), broken: false },
    { change: changed(pod(), undefined, { by: 'system:node:node-1' }), broken: true },
  ],
  'the token of a volume grows with every attachment': [
    { change: changed(disk(undefined, 3), disk('node-1', 4), { resource: 'persistentvolumes' }), broken: false },
    { change: changed(disk('node-1', 4), disk('node-1', 4), { resource: 'persistentvolumes' }), broken: false },
    { change: changed(disk('node-1', 4), disk(undefined, 4), { resource: 'persistentvolumes' }), broken: false },
    { change: changed(disk('node-1', 4), disk(undefined, 3), { resource: 'persistentvolumes' }), broken: true },
    { change: changed(disk(undefined, 4), disk('node-2', 4), { resource: 'persistentvolumes' }), broken: true },
  ],
  'a volume in use stays attached': [
    { change: changed(disk('node-1'), disk(), { resource: 'persistentvolumes' }), broken: false },
    { change: changed(disk('node-1'), disk(), inUse), broken: true },
    { change: changed(disk('node-1'), disk('node-2'), inUse), broken: true },
  ],
};

for (const [name, rule] of Object.entries(COMMIT_RULES)) {
  test(`[TEST-07] rule on commits: ${name}`, () => {
    const cases = CASES[name] ?? [];
    assert.ok(cases.some(({ broken }) => broken) && cases.some(({ broken }) => !broken), 'both are tried');
    for (const { change, broken } of cases) {
      const whole = {
        resource: 'pods',
        name: 'p',
        by: 'somebody',
        before: undefined,
        after: undefined,
        nodeOf: () => node(),
        isPromiseBroken: () => false,
        nowMs: 0,
        objects: new Map(),
      };
      assert.equal(rule({ ...whole, ...change }) !== undefined, broken, JSON.stringify(change));
    }
  });
}

test('[TEST-07] the commit oracle remembers the previous state, and reports which rule is broken by whom', () => {
  const oracle = new CommitOracle();
  const key = 'core/pods/default/p';
  const commit = (revision: number, value: Pod) =>
    oracle.observe({
      revision,
      by: 'x',
      operation: { kind: 'update', key, value: JSON.stringify(value), expectedRevision: 1 },
    });
  commit(1, pod());
  assert.equal(oracle.check(), undefined);
  commit(2, pod({ spec: { nodeName: 'node-2' } }));
  assert.equal(oracle.name, 'a bound pod stays on its node');
  assert.match(oracle.check() ?? '', /core\/pods\/default\/p at revision 2: x moved it from node-1/);
});

test('[TEST-07] rules that remember learn what a run starts on, and break by nothing of it', () => {
  const seen: CommittedChange[] = [];
  const remembering = { remembers: (change: CommittedChange) => (seen.push(change) === 1 ? 'a break' : undefined) };
  const oracle = new CommitOracle(remembering);
  oracle.startOn([{ key: 'core/pods/default/p', value: JSON.stringify(pod()), revision: 1, createRevision: 1 }]);
  assert.equal(oracle.check(), undefined);
  const learned = seen.map(({ resource, name, before, after }) => [resource, name, before, after?.metadata.uid]);
  assert.deepEqual(learned, [['pods', 'p', undefined, 'one']]);
});

test('[TEST-07] one disk has one writing machine, a name has one life per node, and a finished pod is not started again', () => {
  const fact = (node: string, podUid: string, kind: 'started' | 'ended' = 'started') => ({
    kind,
    node,
    podUid,
    namespace: 'default',
    podName: `disk-${podUid}`,
    container: 'main',
  });
  const living = new Living((name) => (name.startsWith('disk') ? 'disk' : undefined));
  living.observe(fact('node-1', 'a'));
  living.observe(fact('node-1', 'a', 'ended'));
  living.observe(fact('node-2', 'b'));
  assert.equal(living.check(), undefined);
  living.giveUp(({ node }) => node === 'node-2');
  living.observe(fact('node-3', 'c'));
  assert.equal(living.check(), undefined, 'a user has given the other one up');
  living.observe(fact('node-1', 'd'));
  assert.match(living.check() ?? '', /disk-c .* on node-3 and disk-d .* on node-1/);
  const twins = new Living(() => undefined);
  for (const podUid of ['a', 'b']) twins.observe({ ...fact('node-1', podUid), podName: 'p' });
  assert.match(twins.check() ?? '', /p \(b\) is started beside a on node-1/);
  const again = new Living(() => undefined);
  again.ended('a');
  again.observe(fact('node-1', 'a'));
  assert.match(again.check() ?? '', /had ended/);
});

test('[TEST-07] [DISR-08] a pod that a rollout takes after the budget was spent is not blamed on the eviction', () => {
  const rule = new BudgetRule();
  const conditions = [{ type: 'Ready', status: 'True' }];
  const mark = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
  const put = (name: string, metadata: object, more: readonly object[] = []) => {
    const labels = { app: 'web' };
    const status = { phase: 'Running', conditions: [...conditions, ...more] };
    const value = JSON.stringify(pod({ metadata: { ...metadata, name, labels }, status }));
    rule.observe({ revision: 1, operation: { kind: 'create', key: `core/pods/default/${name}`, value } });
  };
  for (const name of ['a', 'b', 'c']) put(name, {});
  const budget = { spec: { minAvailable: 2 }, status: { disruptedPods: { a: 'now' } } };
  const key = 'policy/poddisruptionbudgets/default/web';
  rule.observe({ revision: 2, operation: { kind: 'create', key, value: JSON.stringify(budget) } });
  put('b', deleted(10));
  put('a', deleted(10), [mark]);
  assert.equal(rule.check(), undefined);
  const more = { ...budget, status: { disruptedPods: { a: 'now', c: 'now' } } };
  rule.observe({ revision: 3, operation: { kind: 'create', key, value: JSON.stringify(more) } });
  put('c', deleted(10), [mark]);
  assert.match(rule.check() ?? '', /leaves 0 ready pods of 2/);
});

test('[TEST-07] [DISR-08] an eviction that leaves too few ready pods is seen', () => {
  const rule = new BudgetRule();
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const evicted = {
    phase: 'Running',
    conditions: [...ready.conditions, { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }],
  };
  const write = (name: string, over: Parameters<typeof pod>[0]) => {
    const value = JSON.stringify(pod({ ...over, metadata: { ...over?.metadata, name, labels: { app: 'web' } } }));
    rule.observe({ revision: 1, operation: { kind: 'create', key: `core/pods/default/${name}`, value } });
  };
  for (const name of ['a', 'b', 'c']) write(name, { status: ready });
  write('a', { metadata: deleted(10), status: evicted });
  assert.equal(rule.check(), undefined);
  write('b', { metadata: deleted(10), status: evicted });
  assert.match(rule.check() ?? '', /leaves 1 ready pods of 2/);
});

/** Seed 65: a pod was lost after the eviction had counted, and 0.6 s before a slow store wrote that it spends. */
test('[TEST-07] [DISR-08] a loss that an eviction could not count is not blamed on it, an earlier one is', () => {
  const evictAfterLossAt = (lostAtMs: number): string | undefined => {
    let nowMs = 0;
    const rule = new BudgetRule(() => nowMs);
    const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    const put = (name: string, over: Parameters<typeof pod>[0]) => {
      const value = JSON.stringify(pod({ ...over, metadata: { ...over?.metadata, name, labels: { app: 'web' } } }));
      rule.observe({ revision: 1, operation: { kind: 'create', key: `core/pods/default/${name}`, value } });
    };
    for (const name of ['a', 'b', 'c']) put(name, { status: ready });
    nowMs = lostAtMs;
    put('c', { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } });
    nowMs = 57_889;
    const budget = { spec: { minAvailable: 2 }, status: { disruptedPods: { a: 'now' } } };
    const operation = {
      kind: 'create',
      key: 'policy/poddisruptionbudgets/default/web',
      value: JSON.stringify(budget),
    } as const;
    rule.observe({ revision: 2, askedAtMs: 57_000, operation });
    const mark = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
    nowMs = 59_446;
    put('a', { metadata: deleted(10), status: { ...ready, conditions: [...ready.conditions, mark] } });
    return rule.check();
  };
  assert.equal(evictAfterLossAt(57_282), undefined);
  assert.match(evictAfterLossAt(56_900) ?? '', /leaves 1 ready pods of 2/);
});

/** Seed 78: the user took a pod from its ReplicaSet, and had deleted that one when he gave the label back. */
test('a pod that a user has relabelled is his to delete when no living controller can adopt it', () => {
  const set = (hash: string, metadata: object = {}): KubeObject =>
    ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: `web-${hash}`, ...metadata },
      spec: { selector: { matchLabels: { app: 'web', 'pod-template-hash': hash } } },
    }) as KubeObject;
  const stray = { labels: { app: 'web', was: 'web', 'pod-template-hash': 'old' } };
  const among = (...sets: readonly KubeObject[]) => ({
    list: <T extends KubeObject>({ plural }: { readonly plural: string }): readonly T[] =>
      plural === 'replicasets' ? (sets as readonly T[]) : [],
  });
  assert.equal(hasStrayed(stray), true);
  assert.equal(hasStrayed({ labels: { app: 'web' } }), false, 'what an orphaned set leaves has to be adopted');
  assert.equal(isAdoptable(among(set('new')), stray), false);
  assert.equal(isAdoptable(among(set('new'), set('old')), stray), true);
  assert.equal(isAdoptable(among(set('old', deleted(0))), stray), false);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-old', uid: 'u', controller: true };
  assert.equal(isAdoptable(among(), { ...stray, ownerReferences: [owner] }), true);
});

test('[TEST-07] [DISR-08] an eviction that takes nothing from the budget is seen', () => {
  const rule = new BudgetRule();
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const mark = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
  const write = (key: string, object: object) =>
    rule.observe({ revision: 1, operation: { kind: 'create', key, value: JSON.stringify(object) } });
  const put = (name: string, over: Parameters<typeof pod>[0]) =>
    write(`core/pods/default/${name}`, pod({ ...over, metadata: { ...over?.metadata, name, labels: { app: 'web' } } }));
  const budget = (status: object) =>
    write('policy/poddisruptionbudgets/default/web', { spec: { minAvailable: 1 }, status });
  budget({});
  for (const name of ['a', 'b', 'c']) put(name, { status: ready });
  budget({ disruptedPods: { a: 'now' } });
  for (const name of ['a', 'b']) {
    assert.equal(rule.check(), undefined);
    put(name, { metadata: deleted(10), status: { ...ready, conditions: [...ready.conditions, mark] } });
  }
  assert.match(rule.check() ?? '', /default\/b is evicted, and its budget was not asked/);
});

test('[TEST-07] an exclusive pod that starts without a read, or writes without the word of its node, is seen', () => {
  const name = 'db-0';
  const path = `/api/v1/namespaces/default/pods/${name}`;
  const fact = {
    kind: 'started',
    node: 'node-1',
    namespace: 'default',
    podName: name,
    podUid: 'one',
    container: 'c',
  } as const;
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true };
  const start = ({ isRead, inUse }: { readonly isRead: boolean; readonly inUse: readonly string[] }) => {
    let nowMs = 0;
    const rule = new StartRule(
      () => 'disk',
      () => nowMs++,
    );
    const commit = (key: string, object: object) =>
      rule.committed({ revision: 1, operation: { kind: 'create', key, value: JSON.stringify(object) } });
    const metadata = { name, labels: { 'statefulset.kubernetes.io/pod-name': name }, ownerReferences: [owner] };
    if (!isRead) rule.answered({ by: 'system:node:node-1', method: 'GET', path });
    commit(`core/pods/default/${name}`, pod({ metadata, spec: { hostname: name } }));
    commit('core/nodes/-/node-1', node({ status: { volumesInUse: inUse } }));
    if (isRead) rule.answered({ by: 'system:node:node-1', method: 'GET', path });
    rule.started(fact);
    return rule.check();
  };
  const inUse = [volumeInUse('disk', 'one')];
  assert.equal(start({ isRead: true, inUse }), undefined);
  assert.match(start({ isRead: false, inUse }) ?? '', /has not read it from the API/);
  assert.match(start({ isRead: true, inUse: [] }) ?? '', /writes to disk on node-1, which has not reported that/);
});

/** Writes once a millisecond, and two events each, for so many milliseconds. */
function busyFor(durationMs: number, { steps, writers }: { steps: number; writers: readonly string[] }) {
  const now = { elapsedMs: 0, steps: 0 };
  const rule = new RateRule(() => now);
  for (let i = 0; i < durationMs && rule.check() === undefined; i++) {
    now.elapsedMs += 1;
    now.steps += steps;
    for (const writer of writers) rule.wrote(writer);
  }
  return rule.check();
}

test('a process that writes without end is a livelock, and so are events without end', () => {
  assert.match(busyFor(5_000, { steps: 1, writers: ['scheduler'] }) ?? '', /scheduler wrote more than/);
  assert.match(busyFor(5_000, { steps: 100, writers: [] }) ?? '', /events happened/);
  assert.equal(busyFor(5_000, { steps: 1, writers: ['admin'] }), undefined);
});

test('an application is complete without the pods that their node has refused, and not with one too many', () => {
  const ready = pod({ status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  const refused = pod({ status: { phase: 'Failed', reason: 'TaintToleration' } });
  assert.ok(isComplete([ready, refused], 1));
  assert.ok(!isComplete([refused], 1));
  assert.ok(!isComplete([ready, pod()], 2), 'one is not ready');
  assert.ok(!isComplete([ready, ready], 1));
});

test('two processes of one name may write twice as much as one', () => {
  const rules = [1, 2].map((actors) => new RateRule(() => ({ elapsedMs: 0, steps: 0 }), actors));
  for (const rule of rules) for (let i = 0; i <= 3_600; i++) rule.wrote('controller-manager');
  assert.deepEqual(
    rules.map((rule) => rule.check() === undefined),
    [false, true],
  );
});

test('what many processes write is no livelock, nor what one writes over a long time', () => {
  const many = Array.from({ length: 3 }, (_, i) => `node-${i}`);
  assert.equal(busyFor(1_000, { steps: 1, writers: many }), undefined);
  assert.equal(busyFor(1_700, { steps: 2, writers: many }), undefined, 'a fight of caches that ends by itself');
  assert.equal(busyFor(200_000, { steps: 3, writers: [] }), undefined);
});

test('[TEST-07] rule: a node runs no more than it has', () => {
  const rule = new RoomRule();
  const uids = ['a', 'b', 'c'];
  for (const [i, uid] of uids.entries()) {
    const containers = [{ name: 'main', resources: { requests: { cpu: '20' } } }];
    const value = JSON.stringify(pod({ metadata: { uid }, spec: { containers } }));
    rule.committed({ revision: i + 1, operation: { kind: 'create', key: `core/pods/default/${uid}`, value } });
  }
  const fact = { namespace: 'default', podName: 'p', container: 'main' } as const;
  rule.observe({ kind: 'started', node: 'node-1', podUid: 'a', ...fact });
  rule.observe({ kind: 'started', node: 'node-2', podUid: 'b', ...fact });
  rule.observe({ kind: 'ended', node: 'node-1', podUid: 'a', ...fact });
  rule.observe({ kind: 'started', node: 'node-1', podUid: 'c', ...fact });
  assert.equal(rule.check(), undefined);
  rule.observe({ kind: 'started', node: 'node-1', podUid: 'a', ...fact });
  assert.match(rule.check() ?? '', /starts on node-1, whose pods ask for 40 processors of 32/);
});

test('[TEST-07] rule: a container is given the grace that it needs, the shortest that was asked for', () => {
  const killedAfter = (seconds: number, ...graces: readonly number[]): string | undefined => {
    const living = new Living(() => undefined);
    for (const graceSeconds of graces) living.endRequested('p', { atMs: 1_000, graceSeconds });
    living.checkGrace('p', 1_000 + seconds * 1000, 4);
    return living.check();
  };
  assert.match(killedAfter(2, 10) ?? '', /p may take 10 s to end and was killed after 2.0 s/);
  assert.match(killedAfter(2, 10, 30) ?? '', /may take 10 s/);
  assert.equal(killedAfter(4, 10), undefined, 'it has ended by itself');
  assert.equal(killedAfter(2, 10, 1), undefined, 'a user has shortened it');
  assert.equal(killedAfter(2), undefined, 'nobody has asked: it has ended by itself');
});

test('[TEST-07] grace is judged where only the kubelet ends a process', () => {
  const off = { poweredOff: new Set(['off']), fenced: new Set<string>(), retired: new Set<string>() };
  const scene = { ...off, killed: new Set(['hit']), plan: { selfFencing: true } };
  const fact = { node: 'node-1', podName: 'web-x', podUid: 'u' };
  assert.equal(mayJudgeGrace(scene, fact), true);
  // The watchdog ends exclusive pods.
  for (const podName of ['db-0', 'disk-x']) {
    assert.equal(mayJudgeGrace(scene, { ...fact, podName }), false, podName);
    assert.equal(mayJudgeGrace({ ...scene, plan: {} }, { ...fact, podName }), true, podName);
  }
  for (const other of [{ node: 'off' }, { podUid: 'hit' }, { podName: 'first-job-x' }])
    assert.equal(mayJudgeGrace(scene, { ...fact, ...other }), false, JSON.stringify(other));
});
