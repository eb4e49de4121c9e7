import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { decodeProtobufObject } from '@holdfast/api/protobuf';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { framesOf, openWatch, PROTOBUF, readFrame } from '../testing/protobuf.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

/** Kind and version of the empty list that the end of the initial state carries, in the encoding of the bookmark or as JSON. */
function emptyListIn(bookmark: unknown): object {
  const annotations = valueAt(bookmark, 'metadata.annotations') as Readonly<Record<string, string>>;
  assert.equal(annotations['k8s.io/initial-events-end'], 'true');
  const bytes = Buffer.from(annotations['kubernetes.io/initial-events-list-blueprint'] ?? '', 'base64');
  const list = bytes.subarray(0, 3).toString() === 'k8s' ? decodeProtobufObject(bytes) : JSON.parse(bytes.toString());
  assert.ok((list.items ?? []).length === 0);
  return { kind: list.kind, apiVersion: list.apiVersion };
}

const createMap = (name: string, data: object = {}) => api.call('POST', MAPS, { body: { metadata: { name }, data } });

test('a watch streams frames: the state, changes, bookmarks; watchers of one change share its bytes', async () => {
  await createMap('a', { k: '1' });
  const url = `${MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  const takes = [await openWatch(api, url), await openWatch(api, url)];
  const open = takes.map((take) => take(5));
  await api.call('PATCH', `${MAPS}/a`, { body: { data: { k: '2' } } });
  await createMap('b');
  await api.call('DELETE', `${MAPS}/a`);
  const [first = [], second = []] = await Promise.all(open);
  const seen = first
    .map(readFrame)
    .map(({ type, object }) => [type, valueAt(object, 'metadata.name'), valueAt(object, 'data.k')]);
  assert.deepEqual(seen, [
    ['ADDED', 'a', '1'],
    ['BOOKMARK', undefined, undefined],
    ['MODIFIED', 'a', '2'],
    ['ADDED', 'b', undefined],
    ['DELETED', 'a', '2'],
  ]);
  const bookmark = first[1] === undefined ? {} : readFrame(first[1]).object;
  assert.deepEqual(emptyListIn(bookmark), { kind: 'ConfigMapList', apiVersion: 'v1' });
  assert.deepEqual(
    first.map((frame, i) => frame === second[i]),
    [false, false, true, true, true],
  );
});

test('a watch of a compacted revision ends with a Status in a frame', async () => {
  const later = await startTestApi({ store: api.store });
  const [frame = Buffer.alloc(0)] = await framesOf(later, `${MAPS}?watch=1&resourceVersion=1`, 1);
  await later.server.stop();
  const { type, object } = readFrame(frame);
  assert.deepEqual([type, object['kind'], object['code']], ['ERROR', 'Status', 410]);
});

test('a client that accepts JSON watches gets lines, whatever else it accepts', async () => {
  await createMap('a', { k: '1' });
  for (const accept of ['application/json', `application/json, ${PROTOBUF};q=0.5`, `${PROTOBUF};q=0, */*`]) {
    const [event] = await api.watch(`${MAPS}?watch=1`, 1, { headers: { accept } });
    assert.equal(event?.type, 'ADDED');
    const abort = new AbortController();
    const answer = await api.call('GET', `${MAPS}?watch=1`, { headers: { accept }, signal: abort.signal });
    abort.abort();
    assert.equal(answer.headers['content-type'], 'application/json');
  }
});

test('a metadata-only watch shows no other kind, not even in a bookmark, in any encoding', async () => {
  await createMap('a', { k: '1' });
  const url = `${MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  for (const version of ['v1', 'v1beta1']) {
    const as = `as=PartialObjectMetadata;g=meta.k8s.io;v=${version}`;
    const frames = (await framesOf(api, url, 2, `${PROTOBUF};${as}`)).map(readFrame);
    const lines = await api.watch(url, 2, { headers: { accept: `application/json;${as}` } });
    for (const event of [...frames, ...lines]) {
      const { kind, apiVersion } = event.object as { readonly kind?: unknown; readonly apiVersion?: unknown };
      assert.deepEqual([kind, apiVersion], ['PartialObjectMetadata', `meta.k8s.io/${version}`]);
    }
    for (const bookmark of [frames[1], lines[1]]) {
      assert.equal(bookmark?.type, 'BOOKMARK');
      const list = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}` };
      assert.deepEqual(emptyListIn(bookmark.object), list);
    }
  }
});
