import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScenario } from '../../scenario/parse.ts';
import type { Sign } from '../losses/signs.ts';
import { brokenGrace, endedAtOnce } from './judge-signs.ts';
import type { LoggedCommit } from './store-log.ts';
import { StoredRules } from './stored-rules.ts';

const KEY = 'core/pods/default/db-0';
const pod = (uid: string, graceSeconds?: number): string =>
  JSON.stringify({
    kind: 'Pod',
    metadata: {
      name: 'db-0',
      uid,
      ...(graceSeconds === undefined
        ? {}
        : { deletionTimestamp: '2026-11-23T00:00:00Z', deletionGracePeriodSeconds: graceSeconds }),
    },
    spec: { nodeName: 'node-1' },
    status: { phase: 'Running' },
  });
let revision = 0;
const create = (value: string): LoggedCommit => ({
  revision: ++revision,
  operation: { kind: 'create', key: KEY, value },
  atMs: revision,
});
const change = (kind: 'update' | 'delete', value: string): LoggedCommit => ({
  revision: ++revision,
  operation: { kind, key: KEY, value, expectedRevision: revision - 1 },
  atMs: revision,
});

function judged(stored: string | undefined, ...commits: readonly LoggedCommit[]): readonly string[] {
  const before = stored === undefined ? [] : [{ key: KEY, value: stored, revision: 0, createRevision: 0 }];
  const rules = new StoredRules(before);
  for (const commit of commits) rules.observe(commit);
  return rules.broken().map((story) => story.split(':')[0] ?? '');
}

test('what is collected although its owner lives is found, and what users delete is not', () => {
  const owner = {
    key: 'core/configmaps/default/owner',
    value: JSON.stringify({ kind: 'ConfigMap', metadata: { uid: 'o' } }),
  };
  const child = JSON.stringify({ kind: 'ConfigMap', metadata: { uid: 'c', ownerReferences: [{ uid: 'o' }] } });
  const told = (...stored: readonly { readonly key: string; readonly value: string }[]): readonly string[] => {
    const key = 'core/configmaps/default/child';
    const objects = [...stored, { key, value: child }];
    const rules = new StoredRules(objects.map((each) => ({ ...each, revision: 1, createRevision: 1 })));
    rules.observe({ revision: 2, operation: { kind: 'delete', key, value: child, expectedRevision: 1 }, atMs: 2 });
    return rules.broken();
  };
  assert.deepEqual(told(), []);
  assert.match(told(owner)[0] ?? '', /^what has a living owner is not collected: /);
});

test('the rules of the simulator judge the history of a real store', () => {
  assert.deepEqual(
    judged(undefined, create(pod('a')), change('update', pod('a', 10)), change('delete', pod('a', 10))),
    [],
  );
  assert.deepEqual(judged(undefined, create(pod('a', 10)), change('update', pod('a', 58))), [
    'grace is only shortened',
  ]);
  assert.deepEqual(judged(pod('a'), change('update', pod('b'))), ['a name keeps its uid until it is removed']);
  assert.deepEqual(judged(pod('a', 10), change('update', pod('a'))), ['a deletion is never undone']);
});

const FILE = 'name: n\nlength: 9s\nform: { stopSeconds: 4 }\nschedule:\n';
const [CALM, FAULTY] = [
  `${FILE}  - { at: 1s, do: delete-pod, target: db-0 }`,
  `${FILE}  - { at: 1s, do: isolate, target: node-1 }`,
];

test('a process that is killed before the end of its time is found, unless a fault may have done it', () => {
  const sign = (what: Sign['what']): Sign => ({
    atMs: 0,
    pod: 'db-0',
    uid: 'a',
    node: 'node-1',
    pid: '7',
    what,
    record: Number.NaN,
  });
  const grace = (file: string, seconds: number, ...signs: readonly Sign['what'][]): number => {
    const commits = [create(pod('a')), change('update', pod('a', seconds)), change('delete', pod('a', seconds))];
    return brokenGrace(parseScenario(file), new Map([['db-0', signs.map(sign)]]), commits).length;
  };
  assert.equal(grace(CALM, 10, 'beat', 'stopping', 'beat', 'stopped'), 0);
  assert.equal(grace(CALM, 10, 'beat', 'stopping', 'beat'), 1);
  assert.equal(grace(CALM, 10, 'beat'), 1);
  assert.equal(grace(CALM, 3, 'beat'), 0, 'it was given less time than it needs');
  assert.equal(grace(FAULTY, 10, 'beat'), 0);
});

test('exclusive processes that end without being told to are counted, and the last of each pod is none', () => {
  const sign = (pid: string, what: Sign['what'] = 'beat', pod = 'db-0'): Sign => ({
    atMs: 0,
    pod,
    uid: 'u',
    node: 'node-1',
    record: 0,
    pid,
    what,
  });
  const told = (pod: string, ...signs: readonly Sign[]): string => endedAtOnce(new Map([[pod, signs]]));
  assert.match(told('db-0', sign('1'), sign('2', 'stopping'), sign('3')), /^1 exclusive processes .*: db-0 on node-1$/);
  assert.match(told('web-0', sign('1'), sign('2')), /^0 exclusive/);
});
