import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiClient, TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { REMEMBERED_TEXTS_CHARS_MAX } from '../limits.ts';
import { ReferencedTexts } from './referenced-texts.ts';

const AWAY = [
  new TransportError('no answer'),
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message: 'not now' }),
  new StatusError({ code: 429, reason: 'TooManyRequests', message: 'not now' }),
];

function rig() {
  const objects = new Map<string, object>();
  const api: { error?: Error } = {};
  const find = async ({ kind }: { kind: string }, { name }: { name: string }): Promise<unknown> => {
    if (api.error !== undefined) throw api.error;
    return objects.get(`${kind}/${name}`);
  };
  return { api, objects, texts: new ReferencedTexts({ find } as unknown as ApiClient) };
}

test('[SAFE-07] variables have the values that were read last while the API is away, and newer ones when it is back', async () => {
  const { api, objects, texts } = rig();
  const read = (): Promise<unknown> => texts.read('default', 'ConfigMap/a');
  objects.set('ConfigMap/a', { data: { color: 'red' } });
  assert.deepEqual(await read(), { color: 'red' });
  objects.set('ConfigMap/a', { data: { color: 'blue' } });
  for (const error of AWAY) {
    api.error = error;
    assert.deepEqual(await read(), { color: 'red' });
    await assert.rejects(texts.read('default', 'ConfigMap/never-read'), error);
  }
  api.error = new StatusError({ code: 403, reason: 'Forbidden', message: 'no' });
  await assert.rejects(read(), /no/, 'an API that answers is believed');
  delete api.error;
  assert.deepEqual(await read(), { color: 'blue' });
  objects.clear();
  assert.equal(await read(), undefined);
  api.error = AWAY[0] ?? assert.fail();
  assert.equal(await read(), undefined, 'an optional one that is missing stays so');
});

test('more than a pod may have remembered is read again', async () => {
  const { api, objects, texts } = rig();
  objects.set('ConfigMap/small', { data: { a: 'b' } });
  objects.set('ConfigMap/large', { data: { a: 'b'.repeat(REMEMBERED_TEXTS_CHARS_MAX) } });
  await texts.read('default', 'ConfigMap/small');
  await texts.read('default', 'ConfigMap/large');
  api.error = AWAY[0] ?? assert.fail();
  assert.deepEqual(await texts.read('default', 'ConfigMap/small'), { a: 'b' });
  await assert.rejects(texts.read('default', 'ConfigMap/large'), api.error);
});
