import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deepFreeze } from './deep.ts';
import type { Json } from './json.ts';
import { applyJsonPatch, decodeJsonPatch, type JsonPatchOperation } from './json-patch.ts';
import { MAX_JSON_POINTER_CHARS } from './limits.ts';
import { applyMergePatch, decodeMergePatch } from './merge-patch.ts';
import { StatusError } from './status.ts';

const unprocessable = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 422 && error.reason === 'Invalid' && error.body.details !== undefined;

test('JSON patch operations', () => {
  const doc = deepFreeze({ data: { n: '1' }, list: [1, 2, 3] });
  const cases: readonly [readonly JsonPatchOperation[], Json][] = [
    [
      [
        { op: 'test', path: '/data/n', value: '1' },
        { op: 'add', path: '/data/m', value: '2' },
      ],
      { data: { n: '1', m: '2' }, list: [1, 2, 3] },
    ],
    [[{ op: 'add', path: '/list/1', value: 9 }], { data: { n: '1' }, list: [1, 9, 2, 3] }],
    [[{ op: 'add', path: '/list/-', value: 9 }], { data: { n: '1' }, list: [1, 2, 3, 9] }],
    [[{ op: 'remove', path: '/list/-1' }], { data: { n: '1' }, list: [1, 2] }],
    [[{ op: 'replace', path: '/list/0', value: null }], { data: { n: '1' }, list: [null, 2, 3] }],
    [[{ op: 'move', from: '/data/n', path: '/moved' }], { data: {}, list: [1, 2, 3], moved: '1' }],
    [[{ op: 'copy', from: '/list', path: '/data/l' }], { data: { n: '1', l: [1, 2, 3] }, list: [1, 2, 3] }],
    [[{ op: 'add', path: '/a~1b~0c', value: 1 }], { data: { n: '1' }, list: [1, 2, 3], 'a/b~c': 1 }],
    [[{ op: 'test', path: '/data/absent', value: null }], { data: { n: '1' }, list: [1, 2, 3] }],
  ];
  for (const [operations, expected] of cases) assert.deepEqual(applyJsonPatch(doc, operations), expected);
});

test('a JSON patch that does not apply is a 422 that hides why', () => {
  const doc = { data: { n: '1' }, list: [1] };
  const bad: readonly JsonPatchOperation[] = [
    { op: 'test', path: '/data/n', value: 'wrong' },
    { op: 'remove', path: '/data/none' },
    { op: 'replace', path: '/data/none', value: 1 },
    { op: 'add', path: '/none/x', value: 1 },
    { op: 'add', path: '/list/5', value: 1 },
    { op: 'add', path: '/list/x', value: 1 },
    { op: 'replace', path: '/list/1', value: 1 },
    { op: 'remove', path: '/__proto__' },
    { op: 'copy', from: '/constructor', path: '/x' },
    { op: 'move', from: '/data', path: '/data/x' },
    { op: 'grow', path: '/data' },
    { op: 'add', path: 'data', value: 1 },
  ];
  for (const operation of bad)
    assert.throws(() => applyJsonPatch(doc, [operation]), unprocessable, JSON.stringify(operation));
});

test('a JSON patch has limits', () => {
  const many: JsonPatchOperation[] = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 }));
  assert.throws(() => applyJsonPatch({ a: 1 }, many), {
    message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  });
  const doubling: JsonPatchOperation[] = Array.from({ length: 40 }, (_, i) => ({
    op: 'copy',
    from: '',
    path: `/c${i}`,
  }));
  assert.throws(() => applyJsonPatch({ a: 'x'.repeat(100) }, doubling), unprocessable);
});

test('a body that is not a JSON patch is refused with the messages of Kubernetes', () => {
  assert.throws(() => decodeJsonPatch({ a: 1 }), {
    message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
  });
  assert.throws(() => decodeJsonPatch([{ op: 5 }]), {
    message: 'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
  });
  assert.deepEqual(decodeJsonPatch([{ op: 'test', path: '', bogus: 1 }]).strictErrors, [
    'json patch unknown field "[0].bogus"',
  ]);
});

test('a body that is not a merge patch is refused with the messages of Kubernetes', () => {
  assert.deepEqual(decodeMergePatch({ a: null }), { a: null });
  assert.deepEqual(decodeMergePatch(null), {});
  assert.throws(() => decodeMergePatch([1]), {
    message: 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
  });
});

test('merge patch follows RFC 7396', () => {
  assert.deepEqual(applyMergePatch({ a: 'b', c: { d: 'e', f: 'g' } }, { a: 'z', c: { f: null } }), {
    a: 'z',
    c: { d: 'e' },
  });
  assert.deepEqual(applyMergePatch({ a: [1] }, { a: { b: null, c: 1 } }), { a: { c: 1 } });
  assert.deepEqual(applyMergePatch({}, { a: { bb: { ccc: null } } }), { a: { bb: {} } });
  assert.deepEqual(applyMergePatch({ a: 1 }, [null]), [null]);
});

test('merge patch is idempotent and does not change its inputs', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.dictionary(fc.string(), fc.jsonValue()),
      (doc, patch) => {
        deepFreeze(doc);
        deepFreeze(patch);
        const once = applyMergePatch(JSON.parse(JSON.stringify(doc)), JSON.parse(JSON.stringify(patch)));
        assert.deepEqual(applyMergePatch(once, JSON.parse(JSON.stringify(patch))), once);
      },
    ),
  );
});

test('patches treat __proto__ and constructor as plain data', () => {
  const hostile: Json = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  const merged = applyMergePatch({}, hostile);
  const patched = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }]);
  assert.equal(JSON.stringify(merged), JSON.stringify(hostile));
  assert.equal(JSON.stringify(patched), '{"__proto__":{"polluted":1}}');
  assert.equal(Object.getPrototypeOf(merged), Object.prototype);
  assert.equal('polluted' in {}, false);
});

test('adding a removed value restores the document', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.jsonValue(), { minKeys: 1 }),
      fc.nat(),
      (doc, pick) => {
        const keys = Object.keys(doc);
        const key = keys[pick % keys.length] ?? '';
        const json: Json = JSON.parse(JSON.stringify(doc));
        const value: Json = JSON.parse(JSON.stringify(doc[key]));
        const result = applyJsonPatch(json, [
          { op: 'remove', path: `/${key}` },
          { op: 'add', path: `/${key}`, value },
        ]);
        assert.deepEqual(result, json);
      },
    ),
  );
});

test('the path of a JSON patch is limited in length', () => {
  const longest = `/${'~1'.repeat(MAX_JSON_POINTER_CHARS / 2 - 1)}`;
  assert.deepEqual(applyJsonPatch({}, [{ op: 'add', path: `${longest}a`, value: 1 }]), {
    [`${'/'.repeat(MAX_JSON_POINTER_CHARS / 2 - 1)}a`]: 1,
  });
  assert.throws(
    () => applyJsonPatch({}, [{ op: 'add', path: `${longest}abc`, value: 1 }]),
    (error) => error instanceof StatusError && error.code === 422,
  );
});
