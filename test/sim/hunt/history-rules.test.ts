import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, volumeInUse } from '@holdfast/api';
import { CommittedState } from '../committed.ts';
import { COMMIT_RULES, CommitOracle } from './commit-rules.ts';
import { historyRules } from './history-rules.ts';
import { whatIsLeft } from './leftovers.ts';
import { Living } from './living.ts';
import type { ReplicaDeps } from './settled.ts';
import { BOUNDED, QUOTA } from './workloads.ts';

const MANAGER = 'system:kube-controller-manager';
const POD_GC = 'system:serviceaccount:kube-system:pod-garbage-collector';
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };

interface Parts {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

interface HistoryOptions {
  readonly isCalm?: boolean;
  readonly replicas?: ReplicaDeps;
  /** In place of the rules that remember. */
  readonly rules?: typeof COMMIT_RULES;
}

/** Objects are committed one after the other, at the time that the test says. */
class History {
  readonly living = new Living((name) => (name === 'writer' ? 'disk' : undefined));
  readonly named = new Set<string>();
  #nowMs = 0;
  #revision = 0;
  readonly #oracle: CommitOracle;

  constructor({ isCalm = false, replicas, rules }: HistoryOptions = {}) {
    const { living, named } = this;
    this.#oracle = new CommitOracle(
      rules ?? historyRules({ living, named, isCalm, ...(replicas && { replicas }) }),
      () => this.#nowMs,
    );
  }

  passes(seconds: number): this {
    this.#nowMs += seconds * 1000;
    return this;
  }

  put(key: string, kind: string, { metadata, spec = {}, status = {} }: Parts, by = 'somebody'): this {
    return this.#commit('update', key, { kind, metadata: { ...metadata }, spec, status } as unknown as KubeObject, by);
  }

  remove(key: string, by = 'somebody'): this {
    return this.#commit('delete', key, { metadata: {} } as unknown as KubeObject, by);
  }

  breaks(rule: string): void {
    assert.equal(this.#oracle.name, rule);
    assert.ok(this.#oracle.check() !== undefined);
  }

  isFine(): this {
    assert.equal(this.#oracle.check(), undefined);
    return this;
  }

  #commit(kind: 'update' | 'delete', key: string, object: KubeObject, by: string): this {
    const operation = { kind, key, value: JSON.stringify(object), expectedRevision: this.#revision };
    this.#oracle.observe({ revision: ++this.#revision, by, operation });
    return this;
  }
}

const POD = 'core/pods/default/p';
const ownedBy = (uid: string, kind = 'StatefulSet') => ({ ownerReferences: [{ uid, kind, controller: true }] });
const ready = { conditions: [{ type: 'Ready', status: 'True' }] };

test('[TEST-07] rule: a deletion takes the uid that it names', () => {
  const history = new History();
  history.named.add('one');
  history
    .put(POD, 'Pod', { metadata: { uid: 'one' } })
    .remove(POD, 'careful')
    .isFine();
  history.put(POD, 'Pod', { metadata: { uid: 'two' } }).remove(POD, 'careful');
  history.breaks('a deletion takes the uid that it names');
});

test('[TEST-07] rule: a volume stays attached to its writers', () => {
  const history = new History();
  const key = 'core/persistentvolumes/-/disk';
  const attached = { status: { attachment: { nodeName: 'node-1', nodeUID: 'n' } } };
  history.put(key, 'PersistentVolume', attached).put(key, 'PersistentVolume', {}).isFine();
  const fact = { node: 'node-1', namespace: 'default', podName: 'writer', podUid: 'w', container: 'main' };
  history.put(key, 'PersistentVolume', attached).living.observe({ kind: 'started', ...fact });
  history.isFine().put(key, 'PersistentVolume', {});
  history.breaks('a volume stays attached to its writers');
});

test('[TEST-07] rule: a controller is not replaced by another', () => {
  const history = new History().put(POD, 'Pod', { metadata: ownedBy('a') }).put(POD, 'Pod', {});
  history.put(POD, 'Pod', { metadata: ownedBy('b') }).isFine();
  history.put(POD, 'Pod', { metadata: ownedBy('a') }).breaks('a controller is not replaced by another');
});

test('[TEST-07] rule: a namespace is removed when it is empty', () => {
  const key = 'core/namespaces/-/side';
  const inside = 'core/pods/side/p';
  const history = new History().put(key, 'Namespace', {}).put(inside, 'Pod', { metadata: { namespace: 'side' } });
  history.remove(inside).remove(key).isFine();
  history.put(inside, 'Pod', { metadata: { namespace: 'side' } }).remove(key);
  history.breaks('a namespace is removed when it is empty');
});

test('[TEST-07] rule: what has a living owner is not collected', () => {
  const key = 'apps/replicasets/default/r';
  const set = { metadata: { uid: 'r', ...ownedBy('d', 'Deployment') }, spec: { replicas: 2 } };
  const owner = 'apps/deployments/default/d';
  const history = new History().put(key, 'ReplicaSet', set).remove(key, MANAGER).isFine();
  history
    .put(owner, 'Deployment', { metadata: { uid: 'd' } })
    .put(key, 'ReplicaSet', set)
    .remove(key, MANAGER);
  history.breaks('what has a living owner is not collected');
});

test('[TEST-07] rule: what has no owner is deleted by users', () => {
  const key = 'apps/statefulsets/default/db';
  const set = { metadata: { namespace: 'default', uid: 's' } };
  const history = new History().put(key, 'StatefulSet', set).remove(key, 'admin').isFine();
  history
    .put(key, 'StatefulSet', { metadata: { namespace: 'side', uid: 's' } })
    .remove(key, MANAGER)
    .isFine();
  history.put(key, 'StatefulSet', set).remove(key, MANAGER).breaks('what has no owner is deleted by users');
});

test('[TEST-07] rule: a lease changes hands when it has run out', () => {
  const key = 'coordination.k8s.io/leases/kube-system/leader';
  const held = (holderIdentity: string) => ({ spec: { holderIdentity } });
  const history = new History().put(key, 'Lease', held('a')).put(key, 'Lease', held('')).put(key, 'Lease', held('b'));
  history.passes(15).put(key, 'Lease', held('c')).isFine();
  history.passes(14).put(key, 'Lease', held('d')).breaks('a lease changes hands when it has run out');
});

test('[TEST-07] rule: a Job counts each pod once', () => {
  const job = 'batch/jobs/default/j';
  const counts = (succeeded: number) => ({ metadata: { uid: 'j' }, spec: { parallelism: 2 }, status: { succeeded } });
  const history = new History().put(job, 'Job', counts(0));
  history.put(POD, 'Pod', { metadata: { uid: 'p', ...ownedBy('j', 'Job') }, status: { phase: 'Succeeded' } });
  history.put(job, 'Job', counts(1)).isFine();
  history.put(job, 'Job', counts(2)).breaks('a Job counts each pod once');
});

test('[TEST-07] rule: a Job runs no more than it may', () => {
  const history = new History().put('batch/jobs/default/j', 'Job', {
    metadata: { uid: 'j' },
    spec: { parallelism: 2 },
  });
  const start = (name: string) =>
    history.put(`core/pods/default/${name}`, 'Pod', { metadata: { uid: name, ...ownedBy('j', 'Job') } });
  start('a');
  start('b').isFine();
  start('c').breaks('a Job runs no more than it may');
});

test('two controllers that act at once by mistake may each start a pod of a Job', () => {
  const replicas = { hasOneActor: false, crashedAtMs: () => Number.NEGATIVE_INFINITY };
  const history = new History({ replicas }).put('batch/jobs/default/j', 'Job', {
    metadata: { uid: 'j' },
    spec: { parallelism: 1 },
  });
  for (const name of ['a', 'b'])
    history.put(`core/pods/default/${name}`, 'Pod', { metadata: { uid: name, ...ownedBy('j', 'Job') } }).isFine();
});

test('[TEST-07] rule: a new node is ready when nothing old runs on it', () => {
  const node = 'core/nodes/-/node-1';
  const fact = { node: 'node-1', namespace: 'default', podName: 'p', podUid: 'p', container: 'main' };
  const history = new History().put(POD, 'Pod', { metadata: { uid: 'p' } });
  history.living.observe({ kind: 'started', ...fact });
  history
    .put(node, 'Node', { metadata: { uid: 'n' }, status: ready })
    .remove(node)
    .passes(1)
    .remove(POD)
    .isFine();
  history
    .passes(1)
    .put(node, 'Node', { metadata: { uid: 'm' } })
    .isFine();
  history.put(node, 'Node', { metadata: { uid: 'm' }, status: ready });
  history.breaks('a new node is ready when nothing old runs on it');
});

test('[TEST-07] rule: a ready node is not out of service', () => {
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  const node = 'core/nodes/-/node-1';
  const pod = { metadata: { uid: 'p' }, spec: { nodeName: 'node-1' }, status: { phase: 'Running' } };
  const history = new History().put(node, 'Node', { spec: { taints } }).put(POD, 'Pod', pod).remove(POD, POD_GC);
  history.isFine().put(node, 'Node', { spec: { taints }, status: ready }).passes(20).put(POD, 'Pod', pod);
  history.put(POD, 'Pod', { ...pod, status: { phase: 'Failed' } }, POD_GC);
  history.breaks('a ready node is not out of service');
});

test('[TEST-07] a promise counts as broken for as long as an answer about it may be under way', () => {
  const lease = 'coordination.k8s.io/leases/kube-node-lease/node-1';
  const spec = { leaseDurationSeconds: 8 };
  const annotations = { 'holdfast.io/self-fencing': 'exclusive', 'holdfast.io/self-fencing-broken': 'now' };
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  const pod = { metadata: { uid: 'p' }, spec: { nodeName: 'node-1' }, status: { phase: 'Running' } };
  const history = new History().put('core/nodes/-/node-1', 'Node', { spec: { taints }, status: ready }).passes(20);
  history.put(lease, 'Lease', { metadata: { annotations }, spec }).put(POD, 'Pod', pod).remove(POD, POD_GC).isFine();
  history.put(lease, 'Lease', { spec }).passes(14).put(POD, 'Pod', pod).remove(POD, POD_GC).isFine();
  history.passes(2).put(POD, 'Pod', pod).remove(POD, POD_GC).breaks('a ready node is not out of service');
});

test('[TEST-07] a volume may leave a node that was vouched for until a moment ago, and no longer', () => {
  const [node, disk] = ['core/nodes/-/node-1', 'core/persistentvolumes/-/disk'];
  const says = { ...ready, volumesInUse: [volumeInUse('disk', 'p')] };
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  const attachment = { nodeName: 'node-1', nodeUID: 'n', pods: [] };
  const rule = 'a volume in use stays attached';
  const history = new History({ rules: { [rule]: COMMIT_RULES[rule] ?? assert.fail(rule) } });
  const put = (spec: object): History =>
    history.put(node, 'Node', { metadata: { name: 'node-1', uid: 'n' }, spec, status: says });
  const metadata = { name: 'disk' };
  const moves = (): History =>
    history
      .put(disk, 'PersistentVolume', { metadata, status: { attachment } })
      .put(disk, 'PersistentVolume', { metadata }, MANAGER);
  put({ taints });
  put({}).passes(14);
  moves().isFine().passes(2);
  moves().breaks(rule);
});

/** The pods of a StatefulSet, ended one after the other. */
class SetHistory extends History {
  constructor(of: ConstructorParameters<typeof History>[0]) {
    super(of);
    this.put('apps/statefulsets/default/db', 'StatefulSet', { metadata: { uid: 'db' } });
    for (const name of ['db-0', 'db-1', 'db-2']) this.pod(name, {}, 'somebody');
  }

  ends(name: string, by = MANAGER): this {
    return this.pod(name, DELETED, by);
  }

  pod(name: string, more: object, by: string): this {
    const metadata = { name, uid: name, ...ownedBy('db'), ...more };
    return this.put(`core/pods/default/${name}`, 'Pod', { metadata }, by);
  }
}

const ORDER = 'a StatefulSet ends one pod after the other';

test('[TEST-07] rule: a StatefulSet ends one pod after the other', () => {
  const calm = new SetHistory({ isCalm: true }).ends('db-1', 'admin').ends('db-0').isFine();
  calm.passes(6).ends('db-2').breaks(ORDER);
});

test('[TEST-07] a StatefulSet knows at once what it has ended itself, unless its manager is new', () => {
  const NEVER = Number.NEGATIVE_INFINITY;
  const ended = (of?: ConstructorParameters<typeof History>[0]): History =>
    new SetHistory(of).ends('db-1').ends('db-0');
  ended().breaks(ORDER);
  ended({ replicas: { hasOneActor: false, crashedAtMs: () => NEVER } }).isFine();
  ended({ replicas: { hasOneActor: true, crashedAtMs: () => 0 } }).isFine();
  new SetHistory({}).ends('db-1', 'admin').passes(100).ends('db-0').isFine();
});

const CREATION = 'a StatefulSet creates one pod after the other';

test('[TEST-07] rule: a StatefulSet creates one pod after the other', () => {
  const set = (isCalm: boolean, spec = {}): History =>
    new History({ isCalm }).put('apps/statefulsets/default/db', 'StatefulSet', {
      metadata: { name: 'db', uid: 'db' },
      spec,
    });
  const put = (history: History, name: string, status = {}): History =>
    history.put(
      `core/pods/default/${name}`,
      'Pod',
      { metadata: { name, uid: name, ...ownedBy('db') }, status },
      MANAGER,
    );
  const begun = (isCalm: boolean, spec?: object): History => put(set(isCalm, spec), 'db-0');
  put(begun(false), 'db-1').breaks(CREATION);
  put(begun(false, { podManagementPolicy: 'Parallel' }), 'db-1').isFine();
  put(set(false, { ordinals: { start: 1 } }), 'db-1').isFine();
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  const lapsed = (isCalm: boolean): History => put(put(begun(isCalm), 'db-0', ready).passes(9), 'db-0').passes(1);
  put(put(begun(false), 'db-0', ready), 'db-1').isFine();
  put(lapsed(true), 'db-1').isFine();
  put(lapsed(false).passes(9), 'db-1').isFine();
  put(lapsed(true).passes(9), 'db-1').breaks(CREATION);
});

test('[TEST-07] rule: what an object of a user owns is not collected while it lives', () => {
  const child = 'core/serviceaccounts/default/child';
  const owned = { metadata: { ownerReferences: [{ uid: 'o' }] } };
  const history = new History().put(child, 'ServiceAccount', owned).remove(child, MANAGER).isFine();
  history.put('core/configmaps/default/owner', 'ConfigMap', { metadata: { uid: 'o' } });
  history.put(child, 'ServiceAccount', owned).remove(child, 'admin').put(child, 'ServiceAccount', owned).isFine();
  history.remove(child, MANAGER).breaks('what has a living owner is not collected');
});

test('[TEST-07] rule: a volume drops only pods that are gone', () => {
  const volume = 'core/persistentvolumes/-/disk';
  const named = (...uids: readonly string[]) => ({
    metadata: { name: 'disk' },
    status: { attachment: { nodeName: 'node-1', pods: uids.map((uid) => ({ uid })) } },
  });
  const pod = (phase: string) => ({ metadata: { name: 'p', uid: 'p' }, status: { phase } });
  const history = new History().put(POD, 'Pod', pod('Succeeded')).put(volume, 'PersistentVolume', named('p'));
  history.put(volume, 'PersistentVolume', named()).isFine();
  history.put(volume, 'PersistentVolume', named('gone', 'p')).put(POD, 'Pod', pod('Running'));
  history.put(volume, 'PersistentVolume', named('p')).isFine();
  history.put(volume, 'PersistentVolume', named()).breaks('a volume drops only pods that are gone');
});

test('[TEST-07] rule: a node says which volumes its processes use', () => {
  const node = 'core/nodes/-/node-1';
  const fact = { node: 'node-1', namespace: 'default', podName: 'writer', podUid: 'w', container: 'main' };
  const says = (...volumesInUse: readonly string[]) => ({ metadata: { uid: 'n' }, status: { volumesInUse } });
  const history = new History().put(node, 'Node', says(volumeInUse('disk', 'w')));
  history.living.observe({ kind: 'started', ...fact });
  history.living.observe({ kind: 'ended', ...fact });
  history.put(node, 'Node', says()).isFine();
  history.put(node, 'Node', says(volumeInUse('disk', 'w')));
  history.living.observe({ kind: 'started', ...fact });
  history.put(node, 'Node', says()).breaks('a node says which volumes its processes use');
});

const SET = 'apps/replicasets/default/r';
const sized = (replicas: number) => ({ metadata: { uid: 'r' }, spec: { replicas } });
/** A ReplicaSet of one, whose controller creates two pods. */
function createTwo(history: History): History {
  for (const name of ['a', 'b']) {
    const metadata = { name, uid: name, ...ownedBy('r', 'ReplicaSet') };
    history.put(`core/pods/default/${name}`, 'Pod', { metadata }, MANAGER);
  }
  return history;
}

test('[TEST-07] rule: a ReplicaSet creates no pod too many', () => {
  const history = new History().put(SET, 'ReplicaSet', sized(2)).put(SET, 'ReplicaSet', sized(1));
  createTwo(history).isFine();
  const later = new History().put(SET, 'ReplicaSet', sized(2)).put(SET, 'ReplicaSet', sized(1)).passes(61);
  createTwo(later).breaks('a ReplicaSet creates no pod too many');
});

test('[TEST-07] a size or a label counts until a minute after it was changed, and two managers may both create', () => {
  const changed = new History()
    .put(SET, 'ReplicaSet', sized(2))
    .passes(100)
    .put(SET, 'ReplicaSet', sized(1))
    .passes(50);
  createTwo(changed).isFine();
  const twins = new History({ replicas: { hasOneActor: false, crashedAtMs: () => Number.NEGATIVE_INFINITY } });
  createTwo(twins.put(SET, 'ReplicaSet', sized(1))).isFine();
  const crashed = new History({ replicas: { hasOneActor: true, crashedAtMs: () => 0 } });
  createTwo(crashed.put(SET, 'ReplicaSet', sized(1)).passes(59)).isFine();
  const relabelled = new History().put(SET, 'ReplicaSet', sized(1)).passes(100);
  for (const app of ['r', 'none', 'r']) {
    const metadata = { name: 'c', uid: 'c', labels: { app }, ...ownedBy('r', 'ReplicaSet') };
    relabelled.put('core/pods/default/c', 'Pod', { metadata });
  }
  createTwo(relabelled).isFine();
  const lease = 'coordination.k8s.io/leases/kube-system/kube-controller-manager';
  const led = (holderIdentity: string) => ({ spec: { holderIdentity } });
  const led2 = new History().put(SET, 'ReplicaSet', sized(1)).passes(100).put(lease, 'Lease', led('two'));
  createTwo(led2).isFine();
});

test('[TEST-07] what a deleted owner or namespace leaves is seen', () => {
  const committed = new CommittedState();
  const put = (revision: number, key: string, object: object) =>
    committed.apply({ revision, operation: { kind: 'create', key, value: JSON.stringify(object) } });
  put(1, 'apps/replicasets/default/r', { kind: 'ReplicaSet', metadata: { name: 'r', uid: 'r' } });
  put(2, 'core/pods/default/p', { kind: 'Pod', metadata: { name: 'p', ...ownedBy('r') } });
  assert.equal(whatIsLeft(committed), undefined);
  put(3, 'core/pods/default/q', { kind: 'Pod', metadata: { name: 'q', ...ownedBy('gone') } });
  assert.match(whatIsLeft(committed) ?? '', /Pod q stays/);
  const spaces = new CommittedState();
  spaces.apply({
    revision: 1,
    operation: {
      kind: 'create',
      key: 'core/namespaces/-/s',
      value: JSON.stringify({ metadata: { name: 's', ...DELETED } }),
    },
  });
  assert.match(whatIsLeft(spaces) ?? '', /namespace s is still being deleted/);
  const family = new CommittedState();
  const member = (revision: number, kind: string, metadata: object): void => {
    const key = `core/${kind}/default/${revision}`;
    family.apply({ revision, operation: { kind: 'create', key, value: JSON.stringify({ kind, metadata }) } });
  };
  member(1, 'configmaps', { name: 'o', uid: 'o' });
  member(2, 'serviceaccounts', { name: 'c', ownerReferences: [{ uid: 'o' }] });
  assert.equal(whatIsLeft(family), undefined);
  member(3, 'configmaps', { name: 'd', uid: 'd', ownerReferences: [{ uid: 'gone' }] });
  assert.match(whatIsLeft(family) ?? '', /configmaps d stays, and its owner is gone/);
  const jobs = new CommittedState();
  const job = (revision: number, name: string, spec: object, type: string): void => {
    const value = JSON.stringify({ metadata: { name }, spec, status: { conditions: [{ type, status: 'True' }] } });
    jobs.apply({ revision, operation: { kind: 'create', key: `batch/jobs/default/${name}`, value } });
  };
  job(1, 'a', {}, 'Complete');
  assert.equal(whatIsLeft(jobs), undefined);
  job(2, 'b', { ttlSecondsAfterFinished: 5 }, 'Failed');
  assert.match(whatIsLeft(jobs) ?? '', /Job b stays after its time to live/);
  job(3, 'c', { ttlSecondsAfterFinished: 5 }, 'Suspended');
  assert.match(whatIsLeft(jobs) ?? '', /Job c does not end/);
});

test('[TEST-07] rule: a namespace gets no more than its quota', () => {
  const history = new History();
  const create = (namespace: string, name: string): History =>
    history.put(`core/configmaps/${namespace}/${name}`, 'ConfigMap', { metadata: { namespace, name } });
  for (let i = 0; i < QUOTA; i++) create(BOUNDED, `c${i}`);
  create('default', 'other');
  create(BOUNDED, 'c0').isFine();
  history.remove(`core/configmaps/${BOUNDED}/c0`);
  create(BOUNDED, 'next').isFine();
  create(BOUNDED, 'more').breaks('a namespace gets no more than its quota');
});

/** A Deployment of three that rolls from `old` to `new`, one more pod at a time. Both sets are as large as they are told. */
function rollingOut({ isCalm = true } = {}) {
  const strategy = { rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } };
  const history = new History({ isCalm });
  const set = (uid: string, replicas: number, by = MANAGER): History =>
    history.put(
      `apps/replicasets/default/${uid}`,
      'ReplicaSet',
      {
        metadata: { name: uid, uid, ...ownedBy('d', 'Deployment') },
        spec: { replicas },
      },
      by,
    );
  const pod = (uid: string, name: string, status: object = ready): History =>
    history.put(`core/pods/default/${name}`, 'Pod', {
      metadata: { name, uid: name, ...ownedBy(uid, 'ReplicaSet') },
      status,
    });
  history.put('apps/deployments/default/d', 'Deployment', {
    metadata: { name: 'd', uid: 'd' },
    spec: { replicas: 3, strategy },
  });
  set('old', 3);
  for (const name of ['a', 'b', 'c']) pod('old', name);
  history.passes(100);
  return { history, set, pod };
}

test('[TEST-07] rule: a rollout makes no more pods than its surge allows', () => {
  const { history, set } = rollingOut();
  set('new', 1);
  history.isFine();
  set('new', 2);
  history.breaks('a rollout keeps its bounds');
});

test('[TEST-07] rule: a rollout takes no pod that it needs, and hears late where something delays it', () => {
  const { history, set, pod } = rollingOut();
  set('new', 1);
  pod('new', 'n');
  set('old', 2);
  history.isFine();
  set('old', 1);
  history.breaks('a rollout keeps its bounds');
  const late = rollingOut({ isCalm: false });
  late.set('old', 2);
  late.history.isFine();
  const lost = rollingOut();
  lost.pod('old', 'a', {});
  lost.set('old', 2);
  lost.history.isFine();
});

test('[TEST-07] a size that a user changed a moment ago may still be decided on', () => {
  const { history, set } = rollingOut();
  history.put('apps/deployments/default/d', 'Deployment', { metadata: { name: 'd', uid: 'd' }, spec: { replicas: 1 } });
  set('new', 1);
  history.isFine();
  history.passes(100);
  set('new', 2);
  history.breaks('a rollout keeps its bounds');
});
