import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SortedNames } from './sorted-names.ts';

test('names are sorted and known once, whether they come in order or not', () => {
  const names = new SortedNames();
  for (const name of ['b', 'd', 'd', 'f', 'a', 'c', 'd', 'g', 'a']) names.add(name);
  assert.equal(names.size, 6);
  assert.deepEqual(names.values(), ['a', 'b', 'c', 'd', 'f', 'g']);
  for (const name of ['h', 'e', 'i']) names.add(name);
  names.delete('h');
  names.delete('e');
  assert.deepEqual(names.values(), ['a', 'b', 'c', 'd', 'f', 'g', 'i']);
  assert.equal(names.firstAfter('f'), 5);
});
