import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { StoredObject } from '@holdfast/store';
import { Activity } from './activity.ts';
import { differencesOf, type EndState, endStateOf, maskOf, NO_MASK } from './end-state.ts';
import { judge } from './judge.ts';
import { Ledger } from './ledger.ts';
import { describePlan, type Plan, plansOf, readPlan } from './plans.ts';
import type { RunResult } from './run.ts';
import { settled } from './settling.ts';
import { describeStage } from './stages.ts';
import { Trace, type TracedEvent, type TracedWrite } from './trace.ts';
import { readWorkload } from './workload.ts';

const uid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

const stored = (key: string, metadata: object, rest: object = {}, revision = 5): StoredObject => ({
  key,
  revision,
  createRevision: revision,
  value: JSON.stringify({ metadata: { name: key.split('/').at(-1), ...metadata }, ...rest }),
});

const stateOf = (...objects: StoredObject[]) => endStateOf(objects, new Map());

test('an end state has no uids, times, revisions and generated names, but knows what they mean', () => {
  const first = stateOf(
    stored('apps/sets/default/web', { uid: uid(1), resourceVersion: '4' }, { status: { at: '2026-01-01T00:00:00Z' } }),
    stored('core/pods/default/web-abc', { generateName: 'web-', ownerReferences: [{ uid: uid(1) }] }),
  );
  const second = stateOf(
    stored('apps/sets/default/web', { uid: uid(2), resourceVersion: '9' }, { status: { at: '2027-01-01T00:00:00Z' } }),
    stored('core/pods/default/web-xyz', { generateName: 'web-', ownerReferences: [{ uid: uid(2) }] }),
  );
  assert.deepEqual(differencesOf(first, second, NO_MASK), []);
  const orphaned = stateOf(
    stored('apps/sets/default/web', { uid: uid(3) }, { status: { at: '2026-01-01T00:00:00Z' } }),
    stored('core/pods/default/web-xyz', { generateName: 'web-', ownerReferences: [{ uid: uid(2) }] }),
  );
  assert.deepEqual(
    differencesOf(first, orphaned, NO_MASK).map(({ label }) => label),
    ['core/pods/default/web-*'],
  );
});

test('the name of the token volume of a pod is chance, also where the pod has a fixed name', () => {
  const pod = (volume: string) => stored('core/pods/default/db-0', {}, { spec: { volumes: [{ name: volume }] } });
  const first = stateOf(pod('kube-api-access-jmfds'));
  assert.deepEqual(differencesOf(first, stateOf(pod('kube-api-access-z2nkq')), NO_MASK), []);
  assert.equal(differencesOf(first, stateOf(pod('data-z2nkq')), NO_MASK).length, 1);
});

test('the address of a pod or a service is chance, and others mean the pod by it', () => {
  const pod = (podIP: string, hostIP = '192.0.2.1') =>
    stored('core/pods/default/db-0', {}, { status: { podIP, hostIP } });
  const service = (clusterIP: string) => stored('core/services/default/db', {}, { spec: { clusterIP } });
  const slice = (address: string) => stored('discovery.k8s.io/slices/default/db', {}, { endpoints: [{ address }] });
  const first = stateOf(pod('10.0.0.1'), service('10.96.0.1'), slice('10.0.0.1'));
  assert.deepEqual(
    differencesOf(first, stateOf(pod('10.0.0.2'), service('10.96.0.2'), slice('10.0.0.2')), NO_MASK),
    [],
  );
  const stale = differencesOf(first, stateOf(pod('10.0.0.2'), service('10.96.0.1'), slice('10.0.0.1')), NO_MASK);
  assert.deepEqual(
    stale.map(({ label }) => label),
    ['discovery.k8s.io/slices/default/db'],
  );
  const onHost = stateOf(pod('192.0.2.1'));
  assert.equal(differencesOf(onHost, stateOf(pod('192.0.2.2', '192.0.2.2')), NO_MASK).length, 1);
});

test('an object whose name has a uid is the same object in every run', () => {
  const claim = (n: number) => stored('core/persistentvolumeclaims/default/data', { uid: uid(n) });
  const volume = (n: number) =>
    stored(`core/persistentvolumes/-/pvc-${uid(n)}`, {}, { spec: { handle: `h-${uid(n)}` } });
  const first = stateOf(claim(1), volume(1));
  assert.deepEqual(differencesOf(first, stateOf(claim(2), volume(2)), NO_MASK), []);
  const wrong = stored(`core/persistentvolumes/-/pvc-${uid(3)}`, {}, { spec: { handle: `h-${uid(4)}` } });
  assert.deepEqual(
    differencesOf(first, stateOf(claim(3), wrong), NO_MASK).map(({ label, lines }) => [label, lines.length]),
    [['core/persistentvolumes/-/pvc-*', 2]],
  );
});

test('what was there before and did not change is no part of an end state, and what is gone is', () => {
  const before = stored('core/secrets/default/old', {}, {}, 3);
  const base = new Map([
    [before.key, 3],
    ['core/secrets/default/gone', 2],
    ['core/events/default/noise', 2],
  ]);
  const state = endStateOf([before, stored('coordination.k8s.io/leases/default/leader', {})], base);
  assert.deepEqual([...state], [['core/secrets/default/gone', []]]);
});

test('objects that are left over, missing or different are told apart, and a mask hides what differs by nature', () => {
  const one = (data: object) => stored('core/configmaps/default/one', {}, { data });
  const two = stored('core/configmaps/default/two', {});
  const reference = stateOf(one({ value: '1', port: '7' }), two);
  const other = stateOf(one({ value: '1', port: '8' }), two);
  const mask = maskOf(reference, other);
  assert.deepEqual(differencesOf(reference, other, mask), []);
  const run = stateOf(one({ value: '2', port: '9' }), stored('core/configmaps/default/three', {}));
  assert.deepEqual(
    differencesOf(reference, run, mask).map(({ kind, label, lines }) => [kind, label.split('/').at(-1), lines]),
    [
      ['differs', 'one', ['- data.value = 1', '+ data.value = 2']],
      ['left over', 'three', ['+ 1 in place of 0']],
      ['missing', 'two', ['- 0 in place of 1']],
    ],
  );
});

const write = (verb: string, resource: string, name: string, nth = 1): TracedWrite => ({
  kind: 'write',
  verb,
  resource,
  namespace: 'default',
  name,
  nth,
  step: 0,
  status: 200,
});
const event = (name: string, nth: number, step: number): TracedEvent => ({
  kind: 'event',
  type: 'MODIFIED',
  resource: 'pods',
  namespace: 'default',
  name,
  nth,
  revision: 10 + nth,
  step,
});

test('the plans of a run: each class in turn, each write and each state once; only versioned writes conflict', () => {
  const writes = [write('create', 'pods', 'a'), write('update', 'pods', 'a'), write('update', 'pods', 'a', 3)];
  const failed = { ...write('delete', 'pods', 'a'), status: 404 };
  const plans = plansOf({ writes: [...writes, failed], events: [event('a', 1, 0), event('a', 2, 1)] }, 2);
  const count = (kind: Plan['kind']): number => plans.filter((plan) => plan.kind === kind).length;
  assert.deepEqual(
    plans.slice(0, 9).map(({ kind }) => kind),
    ['crash', 'timeTravel', 'stale', 'unobserved', 'lostAnswer', 'crash', 'expired', 'conflict', 'throttled'],
  );
  assert.deepEqual([count('crash'), count('lostAnswer'), count('conflict'), count('stale')], [4, 2, 1, 2]);
  // After step 1 before its state; after step 2 before the first and the last one.
  assert.equal(count('timeTravel'), 3);
  assert.equal(new Set(plans.map((plan) => JSON.stringify(plan))).size, plans.length);
  assert.equal(new Set(plans.map(describePlan)).size, plans.length);
  for (const plan of plans) assert.deepEqual(readPlan(JSON.parse(JSON.stringify(plan))), plan);
});

test('an operator rests after a quiet time, or sooner when what is expected stays; endless activity is told', async () => {
  const clock = createVirtualClock();
  const resting = async (activity: () => number, isExpected: () => boolean) => {
    const begun = clock.monotonic();
    const waiting = settled({
      clock,
      activity,
      isExpected: () => Promise.resolve(isExpected()),
      shortMs: 100,
      quietMs: 1_000,
      deadlineMs: 5_000,
    });
    let result: boolean | undefined;
    void waiting.then((value) => (result = value));
    while (result === undefined) {
      clock.fireNext(clock.monotonic() + 100);
      for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
    }
    return [result, clock.monotonic() - begun];
  };
  assert.deepEqual(
    await resting(
      () => 1,
      () => false,
    ),
    [true, 1_000],
  );
  assert.deepEqual(
    await resting(
      () => 1,
      () => true,
    ),
    [true, 100],
  );
  let count = 0;
  const [result] = await resting(
    () => count++,
    () => true,
  );
  assert.equal(result, false);
});

test('a wait for rest tells again and again what it waits for', async () => {
  const clock = createVirtualClock();
  const told: number[] = [];
  let count = 0;
  let result: boolean | undefined;
  void settled({
    clock,
    activity: () => count++,
    isExpected: () => Promise.resolve(false),
    onWait: (waitedMs) => told.push(waitedMs),
    shortMs: 100,
    quietMs: 1_000,
    deadlineMs: 11_000,
  }).then((value) => (result = value));
  while (result === undefined) {
    clock.fireNext(clock.monotonic() + 100);
    for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
  }
  const everySecond = Array.from({ length: 11 }, (_, i) => (i + 1) * 1_000);
  assert.deepEqual([result, told], [false, everySecond]);
});

test('a stage tells what happened most often since it began', () => {
  const activity = new Activity();
  activity.add('create pods default/a');
  activity.add('create pods default/a');
  const before = activity.counts();
  assert.equal(activity.mostOftenSince(before), undefined);
  activity.add('create pods default/a');
  activity.add('update pods default/a');
  activity.add('update pods default/a');
  activity.add();
  assert.equal(activity.total, 6);
  const mostOften = activity.mostOftenSince(before);
  const stage = { run: 'plan 3', at: 'step 1 of 2: apply Pod a', mostOften };
  assert.equal(describeStage({ ...stage, waitedMs: 0 }), 'plan 3, step 1 of 2: apply Pod a');
  assert.equal(
    describeStage({ ...stage, waitedMs: 5_010 }),
    'plan 3, step 1 of 2: apply Pod a: waited 5 s for rest; most often: update pods default/a (2 times)',
  );
});

test('workloads and plans that cannot be meant are refused in one sentence with the next step', () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
  const refused = (content: unknown, message: RegExp): void =>
    assert.throws(() => readWorkload(content), { name: 'OperatorError', message });
  refused(undefined, /has to be a table/);
  refused({ steps: [] }, /has 0 steps/);
  refused({ stages: [], steps: [] }, /no field "stages"/);
  refused({ steps: [{}] }, /steps\[0\] needs either apply or delete/);
  refused({ steps: [{ apply: object, delete: object }] }, /needs either/);
  refused({ steps: [{ apply: { kind: 'Pod', metadata: { name: 'a' } } }] }, /steps\[0\].apply is not an object/);
  refused({ steps: [{ aply: object }] }, /no field "aply"/);
  for (const step of [
    { delete: object, subresource: 'status' },
    { apply: object, subresource: '../x' },
  ])
    refused({ steps: [step] }, /steps\[0\].subresource does not fit/);
  assert.deepEqual(
    readWorkload({ steps: [{ apply: object, wait: false, subresource: 'status' }, { delete: object }] }),
    {
      setup: [],
      steps: [
        { verb: 'apply', object, waits: false, subresource: 'status' },
        { verb: 'delete', object, waits: true },
      ],
    },
  );
  for (const plan of [
    undefined,
    {},
    { kind: 'toString' },
    { kind: 'crash', moment: 'later', write: {} },
    { kind: 'expired' },
  ]) {
    assert.throws(() => readPlan(plan), { message: 'the plan is none of explore' });
  }
});

const resultOf = (
  states: readonly EndState[],
  deletions: readonly (readonly [string, number])[],
  output = '',
): RunResult => {
  const ledger = new Ledger();
  for (const [label, count] of deletions) ledger.deletions.set(label, count);
  const trace = new Trace(() => true);
  const told = { crashes: 0, lastExit: '', output, faultMs: 0, history: [] };
  return { trace, ledger, states, hasSettled: true, ...told };
};

test('what a run leaked, deleted, or printed in a panic is found; what the reference does not keep may go twice', () => {
  const claim = 'core/persistentvolumeclaims/default/data';
  const reference = resultOf([stateOf(stored(claim, {}))], [['core/configmaps/default/goes', 1]]);
  const expectation = { states: reference.states, masks: [NO_MASK], reference };
  const found = (result: RunResult): readonly string[] => judge(expectation, result).map(({ text }) => text);
  assert.deepEqual(found(reference), []);
  assert.deepEqual(found(resultOf(reference.states, [['core/configmaps/default/goes', 2]])), []);
  assert.deepEqual(found(resultOf(reference.states, [[claim, 1]])), [`${claim} is deleted 1 times in place of 0`]);
  const leaky = stateOf(stored(claim, {}), stored('core/secrets/default/more', {}));
  assert.deepEqual(found(resultOf([leaky], [], 'panic: no map')), [
    'core/secrets/default/more is leaked',
    'the operator printed: panic: no map',
  ]);
  assert.deepEqual(found({ ...reference, hasSettled: false, crashes: 3, lastExit: 'code 1' }), [
    'the operator writes again and again',
    'the operator ended 3 times by itself, the last time with code 1',
  ]);
});
