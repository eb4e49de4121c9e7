import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { judgeOperations } from './linearizable.ts';
import {
  judgeRegisters,
  REGISTER,
  type RegisterInput,
  type RegisterOperation,
  type RegisterOutput,
} from './registers.ts';

const at = (beganMs: number, endedMs: number, input: RegisterInput, output?: RegisterOutput): RegisterOperation => ({
  process: 'p',
  input,
  beganMs,
  endedMs,
  ...(output === undefined ? {} : { output }),
});
const DONE = { kind: 'done' } as const;
const REFUSED = { kind: 'refused' } as const;
const READ = { kind: 'read' } as const;
const value = (of: string | undefined): RegisterOutput => ({ kind: 'value', value: of });
const create = (to: string): RegisterInput => ({ kind: 'create', to });
const swap = (from: string, to: string): RegisterInput => ({ kind: 'swap', from, to });
const judge = (...operations: readonly RegisterOperation[]): string => judgeOperations(REGISTER, operations).kind;

test('a history of one client after the other is right when each sees what the last one wrote', () => {
  assert.equal(judge(), 'linearizable');
  assert.equal(judge(at(0, 1, create('a'), DONE), at(2, 3, READ, value('a'))), 'linearizable');
  assert.equal(judge(at(0, 1, create('a'), DONE), at(2, 3, READ, value(undefined))), 'broken');
  assert.equal(judge(at(0, 1, create('a'), DONE), at(2, 3, create('b'), REFUSED)), 'linearizable');
  assert.equal(judge(at(0, 1, create('a'), DONE), at(2, 3, create('b'), DONE)), 'broken');
});

test('requests at the same time may take effect in any order, also against the order of their beginnings', () => {
  const first = at(0, 10, create('a'), DONE);
  assert.equal(judge(first, at(1, 9, READ, value(undefined))), 'linearizable');
  assert.equal(judge(first, at(1, 9, READ, value('a'))), 'linearizable');
  assert.equal(judge(first, at(1, 4, READ, value('a')), at(5, 9, READ, value(undefined))), 'broken');
});

test('of two swaps of one value at most one is done', () => {
  const start = at(0, 1, create('a'), DONE);
  assert.equal(judge(start, at(2, 9, swap('a', 'b'), DONE), at(3, 8, swap('a', 'c'), REFUSED)), 'linearizable');
  assert.equal(judge(start, at(2, 9, swap('a', 'b'), DONE), at(3, 8, swap('a', 'c'), DONE)), 'broken');
  assert.equal(judge(start, at(2, 4, swap('a', 'b'), REFUSED)), 'broken');
});

test('a swap that was refused and is seen all the same is a write that was done twice or denied', () => {
  const start = at(0, 1, create('a'), DONE);
  assert.equal(judge(start, at(2, 4, swap('a', 'b'), REFUSED), at(5, 6, READ, value('b'))), 'broken');
});

test('what nobody has answered may happen late, or never, and not before it was asked', () => {
  const start = at(0, 1, create('a'), DONE);
  const open = at(2, 3, swap('a', 'b'));
  assert.equal(judge(start, open, at(4, 5, READ, value('a'))), 'linearizable');
  assert.equal(judge(start, open, at(4, 5, READ, value('a')), at(6, 7, READ, value('b'))), 'linearizable');
  assert.equal(judge(start, open, at(4, 5, READ, value('b')), at(6, 7, READ, value('a'))), 'broken');
  assert.equal(judge(start, at(2, 3, READ, value('b')), at(4, 5, swap('a', 'b'))), 'broken');
});

test('hundreds of writes without an answer, as an outage leaves them, are decided', () => {
  const open = Array.from({ length: 400 }, (_, i) => at(i, i + 1, swap(i % 3 === 0 ? 'a' : 'old', `v${i}`)));
  const start = at(0, 1, create('a'), DONE);
  assert.equal(judge(start, ...open, at(500, 501, READ, value('a'))), 'linearizable');
  assert.equal(judge(start, ...open, at(500, 501, READ, value('v300'))), 'linearizable');
  assert.equal(judge(start, ...open, at(500, 501, READ, value('v301'))), 'broken');
});

test('an object that is removed may be created again', () => {
  const start = at(0, 1, create('a'), DONE);
  const remove = at(2, 3, { kind: 'remove', from: 'a' }, DONE);
  assert.equal(judge(start, remove, at(4, 5, READ, value(undefined)), at(6, 7, create('b'), DONE)), 'linearizable');
  assert.equal(judge(start, remove, at(4, 5, READ, value('a'))), 'broken');
});

test('a story names the state and the operations that cannot follow; a long search ends undecided', () => {
  const { broken } = judgeRegisters(new Map([['r-1', [at(0, 1, create('a'), DONE), at(2, 3, READ, value('z'))]]]));
  assert.match(
    broken[0] ?? '',
    /^the history of r-1 is not linearizable: after 1 operations the state is a, .*read -> z/,
  );
  const many = Array.from({ length: 20 }, (_, i) => at(0, 100, create(`${i}`)));
  assert.equal(judgeOperations(REGISTER, [...many, at(1, 2, READ, value('none'))], 50).kind, 'undecided');
});

/** A client that asks: what, how long before and after the moment at which it happens, and whether it is told. */
const asked = fc.record({
  kind: fc.constantFrom('read', 'create', 'swap', 'swap', 'remove', 'stale'),
  before: fc.nat(30),
  after: fc.nat(30),
  isTold: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
});
type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never;

/** One operation after the other on a real register, so that the history is right. */
function historyOf(steps: readonly Asked[]): readonly RegisterOperation[] {
  let state: string | undefined;
  let old = 'never';
  return steps.map(({ kind, before, after, isTold }, index): RegisterOperation => {
    const moment = index * 10;
    const [from, to] = [kind === 'stale' ? old : (state ?? 'never'), `v${index}`];
    const input: RegisterInput =
      kind === 'read' || kind === 'create'
        ? kind === 'read'
          ? READ
          : create(to)
        : kind === 'remove'
          ? { kind, from }
          : swap(from, to);
    const next = REGISTER.step(state, input, undefined)?.state;
    const isDone = input.kind === 'create' ? state === undefined : input.kind !== 'read' && state === input.from;
    const output: RegisterOutput = input.kind === 'read' ? value(state) : isDone ? DONE : REFUSED;
    if (isDone) old = state ?? old;
    state = next;
    return at(moment - before, moment + after, input, isTold ? output : undefined);
  });
}

test('every history of a real register is found right', () => {
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 40 }), (steps) => {
      assert.equal(judgeOperations(REGISTER, historyOf(steps)).kind, 'linearizable');
    }),
  );
});

/** The state after operations of which all are told. */
const endOf = (told: readonly RegisterOperation[]): string | undefined =>
  told.reduce<string | undefined>((state, { input, output }) => REGISTER.step(state, input, output)?.state, undefined);

/** The same history, and a new object `x` after it. */
function endingInX(steps: readonly Asked[]): { readonly told: readonly RegisterOperation[]; readonly end: number } {
  const told = historyOf(steps.map((step) => ({ ...step, isTold: true })));
  const end = Math.max(0, ...told.map(({ endedMs }) => endedMs)) + 1;
  const last = endOf(told);
  const reset = last === undefined ? [] : [at(end, end + 1, { kind: 'remove', from: last }, DONE)];
  return { told: [...told, ...reset, at(end + 2, end + 3, create('x'), DONE)], end: end + 4 };
}

test('a read of a value that was overwritten before it was asked is always found', () => {
  const property = fc.property(fc.array(asked, { maxLength: 30 }), fc.nat(40), (steps, late) => {
    const { told, end } = endingInX(steps);
    const overwritten = [at(end, end + 5, swap('x', 'y'), DONE), at(end + 6 + late, end + 99, READ, value('x'))];
    assert.equal(judge(...told, ...overwritten), 'broken');
  });
  fc.assert(property);
});

test('two acknowledged swaps of one value are always found, whatever else happens', () => {
  const property = fc.property(fc.array(asked, { maxLength: 30 }), fc.nat(40), (steps, apart) => {
    const { told, end } = endingInX(steps);
    const twice = [at(end, end + 50, swap('x', 'y'), DONE), at(end + apart, end + 50, swap('x', 'z'), DONE)];
    assert.equal(judge(...told, ...twice), 'broken');
  });
  fc.assert(property);
});
