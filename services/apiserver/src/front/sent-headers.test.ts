import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinValues } from '../http/header-values.ts';
import { HEADERS_MAX } from '../limits.ts';
import { plainHeaders } from './sent-headers.ts';

/** Counts how often a text of the list is read. */
function counted(texts: readonly string[]): { readonly list: readonly string[]; readonly reads: () => number } {
  let reads = 0;
  const get = (target: readonly string[], key: string | symbol): unknown => {
    if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
    return Reflect.get(target, key);
  };
  return { list: new Proxy(texts, { get }), reads: () => reads };
}

test('the work for impersonation headers grows with their number', () => {
  const names = Array.from({ length: HEADERS_MAX }, (_, index) => `Impersonate-Extra-${index}`);
  const { list, reads } = counted(names.flatMap((name) => [name, `value of ${name}`]));
  const headers = Object.fromEntries(names.map((name) => [name.toLowerCase(), '']));
  const plain = plainHeaders({ headers, rawHeaders: list });
  assert.equal(plain['impersonate-extra-999'], 'value of Impersonate-Extra-999');
  assert.equal(Object.keys(plain).length, HEADERS_MAX);
  assert.ok(reads() <= 2 * list.length, `${reads()} reads`);
});

test('each value of an impersonation header is kept, however its name is written', () => {
  const rawHeaders = ['Impersonate-Group', 'a, b', 'Accept', 'c', 'impersonate-group', 'd', 'IMPERSONATE-User', 'joe'];
  const headers = { 'impersonate-group': 'a, b, d', accept: 'c', 'impersonate-user': 'joe' };
  assert.deepEqual(plainHeaders({ headers, rawHeaders }), {
    'impersonate-group': joinValues(['a, b', 'd']),
    accept: 'c',
    'impersonate-user': 'joe',
  });
});
