import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MemberTraits, membersIn } from './container-members.ts';
import type { MarkedProcess } from './process-table.ts';

const LEADER = { pid: 40, startTicks: '7' };

const entry = (given: Partial<MarkedProcess>): MarkedProcess => ({
  pid: 603,
  parent: 1,
  group: 603,
  session: 603,
  startTicks: '9',
  zombie: false,
  marker: '',
  isStarting: false,
  ...given,
});

const leader = entry({ pid: 40, parent: 30, group: 40, session: 40, startTicks: '7', marker: 'c1' });

const pids = (entries: readonly MarkedProcess[], traits: Partial<MemberTraits> = {}): readonly number[] =>
  membersIn(entries, {
    id: 'c1',
    leader: LEADER,
    known: new Set(),
    isOther: (marker) => marker === 'c2',
    ...traits,
  }).map(({ pid }) => pid);

test('[SAFE-12] a process of the session is a member whatever id it gives itself', () => {
  const inSession = { session: 40, parent: 1 };
  assert.deepEqual(pids([entry({ ...inSession, marker: 'made-up' })]), [603]);
  assert.deepEqual(pids([entry({ ...inSession, marker: '' })]), [603]);
  assert.deepEqual(pids([entry({ ...inSession, marker: 'c2' })]), [], 'one of another container');
});

test('[SAFE-12] what descends from a member is one, also in a session of its own without an id', () => {
  const backend = entry({ pid: 50, parent: 60, session: 50 });
  const forked = entry({ pid: 60, parent: 40, session: 60 });
  const ofItsSession = entry({ pid: 45, parent: 1, session: 60 });
  const other = entry({ pid: 70, parent: 30, session: 70, marker: 'c2' });
  const stranger = entry({ pid: 80, parent: 1, session: 80 });
  assert.deepEqual(pids([leader, ofItsSession, backend, forked, other, stranger]), [40, 45, 50, 60]);
});

test('a child of a member that belongs to another container is not one, nor is the looking process', () => {
  const other = entry({ pid: 50, parent: 40, marker: 'c2' });
  const itself = entry({ pid: process.pid, parent: 40 });
  const ofItself = entry({ pid: 51, parent: process.pid });
  assert.deepEqual(pids([leader, other, itself, ofItself]), [40]);
});

test('a known member stays one, and a later process with its number is none', () => {
  const orphan = entry({ pid: 50, startTicks: '9' });
  const child = entry({ pid: 51, parent: 50 });
  assert.deepEqual(pids([orphan, child], { known: new Set(['50/9']) }), [50, 51]);
  assert.deepEqual(pids([orphan, child], { known: new Set(['50/8']) }), []);
});

test('[SAFE-12] a known member, or the first process, that takes the id of another container stays a member', () => {
  const renamed = entry({ pid: 50, startTicks: '9', marker: 'c2' });
  assert.deepEqual(pids([renamed], { known: new Set(['50/9']) }), [50]);
  assert.deepEqual(pids([{ ...leader, marker: 'c2', group: 41, session: 41 }]), [40]);
});

test('the session of a later process with the number of the first one is not ours', () => {
  const later = entry({ pid: 40, group: 40, session: 40, startTicks: '99' });
  const child = entry({ pid: 41, parent: 40, group: 40, session: 40, startTicks: '99' });
  assert.deepEqual(pids([later, child]), []);
  assert.deepEqual(pids([child], { leader: undefined }), []);
});
