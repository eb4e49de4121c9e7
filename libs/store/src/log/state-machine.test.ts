import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import { create, pod, remove, update } from '../contract/support.ts';
import { LOG_SESSIONS_MAX } from '../limits.ts';
import type { Change, WriteOperation } from '../port.ts';
import { type Command, decodeEntry, type Entry, encodeEntry } from './entry.ts';
import { captureState, encodePiece, SnapshotReader } from './snapshot.ts';
import { type Applied, type Decided, emptyState, StateMachine } from './state-machine.ts';

const open = (session: string): Entry => entry(session, 1, [], { kind: 'open' });

function entry(session: string, number: number, operations: readonly WriteOperation[][], command?: Command): Entry {
  const writes = operations.map((list, index) => ({
    id: `${session}.${number}.${index}`,
    room: 'ordinary' as const,
    operations: list,
  }));
  return { session, number, claim: undefined, limits: undefined, writes, command };
}

/** Applies entries at the next sequences. */
function feed(machine: StateMachine, ...entries: readonly Entry[]): Applied[] {
  return entries.map((each) => machine.apply(machine.position + 1, encodeEntry(each)));
}

const answersOf = (applied: Applied | undefined) => applied?.decided.map(({ answer }) => answer);

test('an entry is carried out once, however often it stands in the log', () => {
  const machine = new StateMachine();
  const write = entry('a', 2, [[create(pod('x'))]]);
  const [, first, again] = feed(machine, open('a'), write, write);
  assert.deepEqual(answersOf(first), [{ outcome: 'committed', firstRevision: 1, lastRevision: 1 }]);
  assert.deepEqual([again?.effective, again?.changes], [false, []]);
  assert.equal(machine.table.revision, 1);
});

test('an entry behind a later one of its session has no effect: what was refused or given up never happens later', () => {
  const machine = new StateMachine();
  const [, , late] = feed(machine, open('a'), entry('a', 3, []), entry('a', 2, [[create(pod('x'))]]));
  assert.deepEqual([late?.effective, late?.isStranger], [false, false]);
  assert.equal(machine.table.revision, 0);
});

test('a write that was repeated under its id in another entry keeps its first answer', () => {
  const machine = new StateMachine();
  const [, write] = [open('a'), entry('a', 2, [[create(pod('x'))]])];
  const [, first, , again] = feed(machine, open('a'), write, open('b'), { ...write, session: 'b', number: 2 });
  assert.deepEqual(answersOf(again), answersOf(first));
  assert.equal(machine.table.revision, 1);
});

test('an entry of a session that was not opened is a stranger', () => {
  const [applied] = feed(new StateMachine(), entry('a', 2, [[create(pod('x'))]]));
  assert.deepEqual([applied?.effective, applied?.isStranger], [false, true]);
});

test('a forgotten session never begins again: a late repetition of it finds nobody, its halt is still obeyed', () => {
  const machine = new StateMachine();
  const beginning = { ...open('a'), claim: machine.claim };
  const [write] = [entry('a', 2, [[create(pod('x'))]])];
  feed(machine, beginning, write, entry('a', 3, [[remove(pod('x'), 1)]]));
  for (let i = 0; i < LOG_SESSIONS_MAX; i++) feed(machine, { ...open(`s${i}`), claim: machine.claim });
  const copy = copyOf(machine);
  for (const each of [machine, copy]) {
    const late = feed(each, beginning, {
      ...write,
      writes: write.writes.map((one) => ({ ...one, id: 'forgotten too' })),
    });
    assert.deepEqual(
      late.map(({ effective, isStranger }) => [effective, isStranger]),
      [
        [false, true],
        [false, true],
      ],
    );
    assert.equal(each.table.revision, 2);
    const again = feed(each, { ...open('b'), claim: each.claim }, entry('c', 2, [], { kind: 'halt', reason: 'stop' }));
    assert.equal(again[0]?.effective, true);
    assert.equal(each.halted, 'stop');
  }
});

test('I2: a gap in the log is not passed over', () => {
  const machine = new StateMachine();
  assert.throws(() => machine.apply(2, encodeEntry(open('a'))), /the log has no gap/);
});

test('I4: a write id never gets a second place', () => {
  const machine = new StateMachine();
  feed(machine, open('a'), entry('a', 2, [[create(pod('x'))]]));
  const result = { outcome: 'committed', firstRevision: 9, lastRevision: 9 } as const;
  assert.throws(() => machine.state.writeIds.remember('a.2.0', result), /one revision only/);
});

test('I5: an entry of a process that has seen more of the log than there is shows a log that went back', () => {
  const machine = new StateMachine();
  const ahead = { ...open('a'), claim: { sequence: 7, digest: 'x' } };
  assert.equal(feed(machine, ahead)[0]?.claim, 'ahead');
});

test('I3, I7: machines that made different things of one log notice it by the next claim', () => {
  const [one, other] = [new StateMachine(), new StateMachine()];
  feed(one, open('a'), entry('a', 2, [[create(pod('x'), '1')]]));
  feed(other, open('a'), entry('a', 2, [[create(pod('x'), '2')]]));
  const claiming = { ...entry('a', 3, []), claim: other.claim };
  assert.equal(feed(one, claiming)[0]?.claim, 'differs');
  assert.equal(feed(other, claiming)[0]?.claim, 'agrees');
});

test('I1: the revision that was applied never goes back', () => {
  const machine = new StateMachine();
  feed(machine, open('a'), entry('a', 2, [[create(pod('x'))]]));
  const { table } = machine.state;
  assert.throws(() => table.restoreRevision(0));
  assert.equal(machine.table.revision, 1);
});

test('I11: the compacted revision only grows, and history that nobody wrote is not compacted', () => {
  const machine = new StateMachine();
  const compact = (number: number, upTo: number) => entry('a', number, [], { kind: 'compact', upTo });
  feed(machine, open('a'), entry('a', 2, [[create(pod('x'))], [create(pod('y'))]]), compact(3, 2), compact(4, 1));
  assert.equal(machine.compacted, 2);
  feed(machine, compact(5, 99));
  assert.equal(machine.compacted, 2);
  const damaged = emptyState();
  damaged.sizes.push(10_000);
  const full = { ...open('a'), limits: { bytes: 1_000, reserveBytes: 100 } };
  assert.throws(() => feed(new StateMachine(damaged), full), /up to the current revision at most/);
});

test('a halt stands in the log: every machine stops writing at the same place, also after a restart', () => {
  const machine = new StateMachine();
  const halt = entry('a', 2, [[create(pod('x'))]], { kind: 'halt', reason: 'two histories' });
  const [, applied] = feed(machine, open('a'), halt);
  assert.deepEqual(answersOf(applied), ['halted']);
  assert.equal(copyOf(machine).halted, 'two histories');
});

test('an entry of a later format is refused, not guessed at', () => {
  const later = encodeEntry(open('a')).toString().replace('"f":1', '"f":2');
  assert.throws(() => new StateMachine().apply(1, Buffer.from(later)), { name: 'ForeignEntry' });
});

function copyOf(machine: StateMachine): StateMachine {
  const reader = new SnapshotReader();
  for (const piece of captureState(machine.state)) reader.add(encodePiece(piece));
  return new StateMachine(reader.finish());
}

const sessions = ['a', 'b', 'c'];
const values = fc.string({ unit: 'binary', maxLength: 6 });
const operation = fc.record({
  kind: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
  key: fc.constantFrom(...['p', 'q', 'r'].map((name) => pod(name))),
  value: values,
  expectedRevision: fc.nat(12),
});
const anEntry = fc.record({
  session: fc.constantFrom(...sessions),
  number: fc.integer({ min: 1, max: 12 }),
  limits: fc.option(fc.constant({ bytes: 3_000, reserveBytes: 500 }), { nil: undefined }),
  command: fc.option(
    fc.oneof(
      fc.constant({ kind: 'open' } as const),
      fc.record({ kind: fc.constant('compact' as const), upTo: fc.nat(20) }),
    ),
    { nil: undefined },
  ),
  claim: fc.constant(undefined),
  writes: fc.array(
    fc.record({
      id: fc.constantFrom('w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8'),
      room: fc.constantFrom('ordinary' as const, 'releasing' as const, 'system' as const),
      operations: fc.uniqueArray(operation, { selector: ({ key }) => key, minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
});

test('any log: machines agree, also one that begins with a snapshot of any moment; changes are the history', () => {
  fc.assert(
    fc.property(fc.array(anEntry, { maxLength: 30 }), fc.nat(30), (entries, at) => {
      const log = [...sessions.map(open), ...entries.map((each) => decodeEntry(encodeEntry(each)))];
      const [one, other] = [new StateMachine(), new StateMachine()];
      const changes: Change[] = [];
      let restored: StateMachine | undefined;
      for (const [index, each] of log.entries()) {
        const [applied] = feed(one, each);
        changes.push(...(applied?.changes ?? []));
        assert.deepEqual(feed(other, each), [applied]);
        if (restored !== undefined) assert.deepEqual(feed(restored, each), [applied]);
        if (index === at) restored = copyOf(one);
      }
      assert.deepEqual(other.claim, one.claim);
      if (restored !== undefined)
        assert.deepEqual([restored.claim, restored.table.list('')], [one.claim, one.table.list('')]);
      assert.deepEqual(
        changes.map(({ revision }) => revision),
        changes.map((_, index) => index + 1),
      );
      checkChain(changes, one);
    }),
    { numRuns: 500 },
  );
});

/** Every change replaces exactly the state that it names, and their sum is the table. */
function checkChain(changes: readonly Change[], machine: StateMachine): void {
  const current = new Map<string, Change>();
  const writers = new Map<string, number>();
  for (const change of changes) {
    assert.equal(change.previousRevision, current.get(change.key)?.revision ?? 0);
    if (change.kind === 'deleted') current.delete(change.key);
    else current.set(change.key, change);
    const id = change.writeId ?? '';
    const last = writers.get(id);
    assert.ok(last === undefined || last === change.revision - 1, 'the changes of one write id stand together');
    writers.set(id, change.revision);
  }
  assert.deepEqual(
    machine.table.list('').objects.map(({ key, value, revision }) => [key, value, revision]),
    [...current.values()]
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ key, value, revision }) => [key, value, revision]),
  );
}

test('an update answers the revision it met, as every backend does', () => {
  const machine = new StateMachine();
  const [, , refused] = feed(
    machine,
    open('a'),
    entry('a', 2, [[create(pod('x'))]]),
    entry('a', 3, [[update(pod('x'), 9)]]),
  );
  assert.deepEqual(answersOf(refused), [{ outcome: 'conflict', index: 0, currentRevision: 1 }]);
});

test('I9: an answer to a client is made of an applied entry, or does not compile', () => {
  const settle = ({ answer }: Decided): Decided['answer'] => answer;
  // @ts-expect-error -- nobody but the state machine has the mark of one
  assert.equal(settle({ answer: 'halted' }), 'halted');
  const machine = new StateMachine();
  const [applied] = feed(machine, open('a'), entry('a', 2, [[create(pod('x'))]])).slice(-1);
  const [decided] = applied?.decided ?? [];
  assert.deepEqual(decided && settle(decided), { outcome: 'committed', firstRevision: 1, lastRevision: 1 });
});
