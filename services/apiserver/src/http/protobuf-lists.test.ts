import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { CONFIG_MAPS, findResource, type KubeObject } from '@holdfast/api';
import { decodeProtobufObject } from '@holdfast/api/protobuf';
import type { ApiResponse } from '@holdfast/client';
import { CachedObject } from '../cache/cached-object.ts';
import { packedEncodings } from '../cache/packed-bytes.ts';
import { PROTOBUF } from './negotiation.ts';
import { encoderFor, protobufListAnswer } from './protobuf.ts';

/** Together longer than what keeps its encodings. */
const [MANY, LARGE] = [50, 400_000];

before(() => encoderFor({ headers: { accept: PROTOBUF } }));

/** Counts what is encoded for lists, and what is lent for them. */
class CountedObject extends CachedObject {
  static lent = 0;
  static encoded = 0;
  override lendEncoded(lend: (object: KubeObject) => Buffer): Buffer {
    CountedObject.lent += 1;
    return super.lendEncoded((object) => {
      CountedObject.encoded += 1;
      return lend(object);
    });
  }
}

const mapsOf = (count: number, characters: number): readonly CountedObject[] =>
  Array.from({ length: count }, (_, i) => {
    const metadata = { name: `m-${i}`, namespace: 'a' };
    const map = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { k: 'v'.repeat(characters + i), ä: 'ö' } };
    return new CountedObject(`core/configmaps/a/m-${i}`, JSON.stringify(map), i + 1);
  });

function answerOf(objects: readonly CachedObject[]): Promise<ApiResponse> {
  const definition = findResource(CONFIG_MAPS.group, CONFIG_MAPS.version, CONFIG_MAPS.plural);
  assert.ok(definition !== undefined);
  return protobufListAnswer({ definition, objects, metadata: { resourceVersion: '9' }, value: () => undefined });
}

function sentBy({ body }: ApiResponse): Buffer {
  assert.ok(body.kind === 'json' && body.pieces !== undefined);
  const { length, pieces } = body.pieces();
  const all = Buffer.concat([...pieces]);
  assert.equal(all.length, length);
  return all;
}

test('a long protobuf list of long objects keeps lengths instead of encodings, and equals a short one', async () => {
  const objects = mapsOf(MANY, LARGE);
  CountedObject.lent = 0;
  const first = await answerOf(objects);
  assert.equal(CountedObject.lent, MANY, 'each once for its length');
  const bytes = sentBy(first);
  assert.equal(CountedObject.lent, 2 * MANY, 'and once when it is sent');
  assert.ok(objects.every((each) => each.keptBytes === 0 && each.valueBytes === 0));
  const second = await answerOf(objects);
  assert.equal(CountedObject.lent, 2 * MANY, 'the lengths are known');
  assert.ok(sentBy(second).equals(bytes));
  assert.ok(first.body.kind === 'json' && Buffer.from(first.body.bytes()).equals(bytes));
  const { items } = decodeProtobufObject(bytes) as unknown as { readonly items: readonly KubeObject[] };
  assert.deepEqual(
    items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
    objects.map(({ name, revision }) => [name, String(revision)]),
  );
});

test('a long protobuf list of short objects encodes each once, and again only after all encodings were dropped', async () => {
  const count = 2_000;
  const objects = mapsOf(count, 9_000);
  CountedObject.encoded = 0;
  const bytes = sentBy(await answerOf(objects));
  assert.equal(CountedObject.encoded, count);
  assert.ok(sentBy(await answerOf(objects)).equals(bytes));
  assert.equal(CountedObject.encoded, count, 'the second list has them');
  packedEncodings.shrinkTo(0);
  assert.ok(sentBy(await answerOf(objects)).equals(bytes));
  assert.equal(CountedObject.encoded, 2 * count);
  assert.ok(objects.every((each) => each.keptBytes === 0));
});

test('a short list in protobuf keeps the encodings of its objects', async () => {
  const objects = mapsOf(MANY, 100);
  CountedObject.lent = 0;
  const bytes = sentBy(await answerOf(objects));
  assert.ok(sentBy(await answerOf(objects)).equals(bytes));
  assert.equal(CountedObject.lent, 0);
  assert.ok(objects.every((each) => each.isEncoded));
});
