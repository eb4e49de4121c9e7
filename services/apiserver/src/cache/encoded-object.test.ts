import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { CachedObject } from './cached-object.ts';

test('an object is encoded once with its revision, whatever its source; rest drops the encoding', () => {
  const object: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace: 'a' } };
  for (const written of [undefined, object]) {
    const cached = new CachedObject('core/pods/a/x', JSON.stringify(object), 5, written);
    const seen: (string | undefined)[] = [];
    const encode = (each: KubeObject): Buffer => Buffer.from(String(seen.push(each.metadata.resourceVersion)));
    assert.equal(cached.encoded(encode), cached.encoded(encode));
    assert.equal(cached.object.metadata.resourceVersion, '5');
    assert.equal(cached.encoded(encode).toString(), '1');
    cached.rest();
    assert.equal(cached.encoded(encode).toString(), '2');
    assert.deepEqual(seen, ['5', '5']);
  }
});

test('an ASCII object writes its bytes from metadata on without encoding them, others do not', () => {
  for (const [text, revision, isWritten] of [
    ['{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"metadata":{}}}', 12_345, true],
    ['{"kind":"Pod","apiVersion":"v1","metadata":{}}', 7, true],
    ['{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}', 0, true],
    ['{"kind":"Pod","apiVersion":"v1","metadata":{"name":"é"}}', 7, false],
    ['{"kind":"Pod","apiVersion":"v1","metadata":{"name":"€"}}', 7, false],
  ] as const) {
    const cached = new CachedObject('core/pods/a/x', text, revision);
    const wanted = cached.makeBytes().subarray(cached.metadataAt);
    const target = Buffer.alloc(wanted.length + 2, '.');
    assert.equal(cached.writeMetadataOn(target, 1), isWritten, text);
    assert.equal(target.toString(), `.${isWritten ? wanted.toString() : '.'.repeat(wanted.length)}.`);
    assert.equal(cached.keptBytes, 0);
  }
});
