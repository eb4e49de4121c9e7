import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeNameOf, withResourceVersion } from './describe.ts';

const TEXTS: readonly [string, string][] = [
  ['usual', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{}}'],
  ['kind first', '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}'],
  ['metadata first', '{"metadata":{"name":"a"},"kind":"Pod"}'],
  ['nested metadata first', '{"spec":{"template":{"metadata":{"name":"x"}}},"metadata":{"name":"a"}}'],
  ['metadata in a text', '{"kind":"\\"metadata\\":{","metadata":{"name":"a"}}'],
  ['empty metadata', '{"kind":"Pod","metadata":{}}'],
  ['no metadata', '{"kind":"Pod"}'],
];

for (const [title, text] of TEXTS) {
  test(`resourceVersion is set in an object with ${title}`, () => {
    const before = JSON.parse(text);
    const expected = { ...before, metadata: { ...before.metadata, resourceVersion: '7' } };
    assert.deepEqual(JSON.parse(withResourceVersion(text, 7)), expected);
  });
}

test('the node of a pod is its spec.nodeName, not a similar field', () => {
  assert.equal(nodeNameOf('{"metadata":{"annotations":{"nodeName":"x"}},"spec":{}}'), '');
  assert.equal(nodeNameOf('{"spec":{"nodeName":"n"}}'), 'n');
  assert.equal(nodeNameOf('{}'), '');
});
