import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { openApi2Parts } from '../openapi/version-2.ts';
import { openApi2Protobuf } from '../openapi/version-2-protobuf.ts';
import { inTurns, jsonParts, whole } from './parts.ts';

test('property: a text written in parts equals JSON.stringify', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
      assert.equal(whole(jsonParts(document)), JSON.stringify(document));
    }),
  );
});

test('other work may run after every kind, path and schema of a long document', async () => {
  let turns = 0;
  const goOn = (): undefined => {
    turns += 1;
  };
  const kinds = servedKinds();
  const document = (await inTurns(openApi2Parts(kinds, 'v1'), goOn)) as { paths: object; definitions: object };
  assert.ok(turns >= 2 * kinds.length, `${turns} turns`);
  const parts = Object.keys(document.paths).length + Object.keys(document.definitions).length;
  turns = 0;
  await inTurns(jsonParts(document), goOn);
  assert.ok(turns >= parts, `${turns} turns for ${parts} parts`);
  turns = 0;
  await inTurns(openApi2Protobuf(document), goOn);
  assert.ok(turns >= parts, `${turns} turns for ${parts} parts`);
});
