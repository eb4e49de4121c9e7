import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { CachedObject } from './cached-object.ts';

test('an object is encoded once, with its revision, whoever left it; when it is over that is forgotten', () => {
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
