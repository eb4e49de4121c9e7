import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equals } from './equality.ts';
import { type CelValue, fromJson, type ListType, STRING } from './index.ts';
import { Meter } from './meter.ts';

const isEqual = (left: CelValue, right: CelValue): boolean => equals(left, right, new Meter(Infinity));

/** Counts how often the elements of a list are read. */
function counted(items: readonly string[]): { readonly list: readonly string[]; readonly reads: () => number } {
  let reads = 0;
  const list = new Proxy(items, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
      return Reflect.get(target, key);
    },
  });
  return { list, reads: () => reads };
}

test('two sets are compared in linear time', () => {
  const type: ListType = { kind: 'list', element: STRING, listType: 'set' };
  const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
  const left = counted(names);
  const right = counted(names.toReversed());
  assert.equal(isEqual(fromJson(left.list, type), fromJson(right.list, type)), true);
  assert.deepEqual([left.reads(), right.reads()], [500, 500]);
  assert.equal(isEqual(fromJson(names, type), fromJson(['other', ...names.slice(1)], type)), false);
  assert.equal(isEqual(fromJson(names, type), fromJson(names.slice(1), type)), false);
});
