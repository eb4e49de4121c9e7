import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { decodeProtobufObject } from '@holdfast/api/protobuf';
import type { ApiResponse } from '@holdfast/client';
import { CachedObject } from '../cache/cached-object.ts';
import { stringifyYaml } from '../http/yaml.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const OBJECTS = 60;
const PARTIAL = 'as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const TABLE = 'as=Table;v=v1;g=meta.k8s.io';

let api: TestApi;
before(async () => {
  api = await startTestApi();
  for (let index = 0; index < OBJECTS; index++) {
    const metadata = { name: `m-${index}`, annotations: { wide: 'w'.repeat(10_000) } };
    await api.call('POST', CONFIG_MAPS, { body: { metadata, data: { k: 'v'.repeat(10_000) } } });
  }
});
after(() => api.stop());

const list = async (accept: string): Promise<ApiResponse> =>
  (await api.call('GET', CONFIG_MAPS, { headers: { accept } })).raw;

function chunksOf({ body }: ApiResponse): AsyncIterable<Uint8Array> {
  assert.ok(body.kind === 'stream' && body.isDocument === true, `the body is of the kind ${body.kind}`);
  return body.chunks;
}

async function bytesOf(answer: ApiResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(answer)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const plain = async (): Promise<object> => JSON.parse(JSON.stringify((await api.call('GET', CONFIG_MAPS)).body));

test('a long YAML list has the text of the list', async () => {
  const { kind, apiVersion, metadata, items } = (await plain()) as { readonly items: readonly object[] } & Record<
    string,
    unknown
  >;
  const typed = items.map((item) => ({ kind: 'ConfigMap', apiVersion: 'v1', ...item }));
  const text = (await bytesOf(await list('application/yaml'))).toString();
  assert.equal(text, stringifyYaml({ kind, apiVersion, metadata, items: typed }));
});

test('long tables and long metadata lists have every member', async () => {
  const table = JSON.parse((await bytesOf(await list(`application/json;${TABLE}`))).toString());
  assert.deepEqual([table.kind, table.rows.length, table.rows[0].cells[0]], ['Table', OBJECTS, 'm-0']);
  assert.equal(table.columnDefinitions.length, 3);
  const partial = JSON.parse((await bytesOf(await list(`application/json;${PARTIAL}`))).toString());
  assert.deepEqual([partial.kind, partial.items.length], ['PartialObjectMetadataList', OBJECTS]);
  assert.equal(partial.items[OBJECTS - 1].metadata.annotations.wide.length, 10_000);
});

test('a long protobuf metadata list has the length of its header', async () => {
  const answer = await list(`application/vnd.kubernetes.protobuf;${PARTIAL}`);
  const bytes = await bytesOf(answer);
  assert.equal(answer.headers['content-length'], String(bytes.length));
  const decoded = decodeProtobufObject(bytes);
  assert.equal(decoded['kind'], 'PartialObjectMetadataList');
  assert.equal((decoded['items'] as readonly unknown[]).length, OBJECTS);
});

for (const accept of [
  'application/yaml',
  `application/json;${TABLE}`,
  `application/json;${PARTIAL}`,
  `application/yaml;${PARTIAL}`,
]) {
  test(`${accept}: only as much of a long list is parsed as the client has read`, async (t) => {
    const answer = await list(accept);
    const read = t.mock.getter(CachedObject.prototype, 'object');
    const chunks = chunksOf(answer)[Symbol.asyncIterator]();
    await chunks.next();
    const early = read.mock.callCount();
    await chunks.return?.();
    assert.ok(early < OBJECTS / 2, `${early} of ${OBJECTS} objects were parsed for the first chunk`);
  });
}
