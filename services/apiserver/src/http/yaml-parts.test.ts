import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { stringifyYaml } from './yaml.ts';
import { yamlParts } from './yaml-parts.ts';

const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

const object = (n: number): unknown => ({
  metadata: { name: `n-${n}`, labels: { yes: 'on', '1': '22:22', empty: '' } },
  data: { script: `#!/bin/sh\n\n  echo ${n}\n`, none: null, list: [], map: {}, deep: [[1, 2], [{ a: true }]] },
});

for (const [what, value] of [
  [
    'a list of many objects',
    { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: many(300, object) },
  ],
  ['an empty list', { kind: 'List', apiVersion: 'v1', items: [] }],
  ['an object with many members', { b: Object.fromEntries(many(2_000, (n) => [`k${n}`, `v${n}\nw\n`])), a: 1 }],
  [
    'maps and lists within each other',
    { a: many(3, () => ({ z: many(300, (n) => ({ n })), b: [many(500, String)] })) },
  ],
  ['many empty values', { a: many(1_000, () => ({})), b: many(1_000, () => []) }],
  ['a scalar', 'yes'],
] as const) {
  test(`${what}: the text in parts equals the text at once`, () => {
    assert.equal([...yamlParts(value)].join(''), stringifyYaml(value));
  });
}

test('no part of a large value prints more than a few hundred values', () => {
  const value = { a: Object.fromEntries(many(20_000, (n) => [`k${n}`, n])) };
  const parts = [...yamlParts(value)];
  assert.ok(
    parts.every((part) => part.split('\n').length < 1_000),
    `${parts.length} parts`,
  );
});
