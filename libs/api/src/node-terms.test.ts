import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeSelectorRequirement, NodeSelectorTerm } from './generated/types.ts';
import { compileNodeTerms } from './node-terms.ts';

const LONG_NAME = `node.${'a'.repeat(63)}`;
const NODE = { name: LONG_NAME, labels: { disk: 'ssd', cores: '8' } };

const label = (key: string, operator: string, ...values: string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key, operator, values }],
});
const field = (operator: NodeSelectorRequirement['operator'], ...values: string[]): NodeSelectorTerm => ({
  matchFields: [{ key: 'metadata.name', operator, values }],
});

const NO_LABEL = 'not a label!';

const TABLE: readonly [string, readonly NodeSelectorTerm[], boolean][] = [
  ['no term', [], false],
  ['a term without requirements', [{}], false],
  ['one of its values', [label('disk', 'In', 'hdd', 'ssd')], true],
  ['another value', [label('disk', 'NotIn', 'hdd')], true],
  ['a higher number', [label('cores', 'Gt', '4')], true],
  ['a value that no label has', [label('disk', 'In', NO_LABEL)], false],
  ['anything but a value that no label has', [label('disk', 'NotIn', NO_LABEL)], false],
  [
    'a term that means nothing beside one that matches',
    [label('disk', 'NotIn', NO_LABEL), label('disk', 'Exists')],
    true,
  ],
  ['an unknown operator', [label('cores', 'Near', '4')], false],
  ['a name that is longer than a label', [field('In', LONG_NAME)], true],
  ['another name', [field('In', 'b')], false],
  ['anything but another name', [field('NotIn', 'b')], true],
  ['two names', [field('In', LONG_NAME, 'b')], false],
  ['a name that is there', [field('Exists')], false],
];

for (const [what, terms, expected] of TABLE) {
  test(`node terms: ${what}`, () => assert.equal(compileNodeTerms(terms)(NODE), expected));
}
