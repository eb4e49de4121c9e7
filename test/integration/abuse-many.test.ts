import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { AbusedApi, type Reply, statusOf, unharmed } from '../support/abused-api.ts';
import { waitFor } from '../support/wait.ts';

const MB = 1024 * 1024;
const KB = 1024;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

describe('very many of one thing', () => {
  let api: AbusedApi;
  before(async () => {
    api = await AbusedApi.start();
  });
  after(() => api[Symbol.asyncDispose]());

  const WATCHES = 10_000;
  const PER_SESSION = 200;

  async function openWatches(path: string): Promise<readonly ClientHttp2Stream[]> {
    const streams: ClientHttp2Stream[] = [];
    while (streams.length < WATCHES) {
      const session = await api.session();
      const opened = Array.from({ length: PER_SESSION }, () =>
        session.request({ ':path': path, authorization: 'Bearer admin' }).on('error', () => {}),
      );
      const answers = await Promise.all(opened.map((stream) => once(stream, 'response')));
      for (const [headers] of answers) assert.equal(headers[':status'], 200);
      for (const stream of opened) stream.resume();
      streams.push(...opened);
    }
    return streams;
  }

  test('10,000 idle watches cost little each, block no client, and are released', async () => {
    const before = await api.memory();
    await unharmed(api, async () => {
      // The stream of an idle namespace.
      const streams = await openWatches('/api/v1/namespaces/quiet/configmaps?watch=1');
      const each = ((await api.memory()) - before) / WATCHES;
      assert.ok(each < 40 * KB, `an idle watch costs ${each} bytes`);
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    });
    const watchers = async (): Promise<boolean> => {
      const { text } = await api.call('GET', '/metrics');
      return /^apiserver_registered_watchers\{resource="configmaps"\} 0$/m.test(text);
    };
    await waitFor('no watch is left', watchers);
    api.disconnectAll();
    await api.givesBack(before, 40 * MB);
  });

  const manyKeys = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']));
  const apply = (name: string, manager: string, data: Record<string, string>): Promise<Reply> => {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
    return api.call('PATCH', `${CONFIG_MAPS}/${name}?force=true&fieldManager=${manager}`, body, APPLY);
  };

  /** The server's cost of applying the same object three times, by two owners, and of removing most of it. */
  async function costOf(keys: number, name: string): Promise<number> {
    const before = await api.cpuMs();
    const wide = manyKeys(keys);
    for (const manager of ['one', 'two', 'one']) {
      const reply = await apply(name, manager, wide);
      assert.ok(reply.status < 300, reply.text.slice(0, 300));
    }
    assert.equal((await apply(name, 'two', { k0: 'changed' })).status, 200);
    return (await api.cpuMs()) - before;
  }

  test('server-side apply of a wide object is linear in its keys, not in their pairs', async () => {
    await costOf(2_000, 'warm-up');
    let narrow = 0;
    for (let i = 0; i < 10; i += 1) narrow += await costOf(900, `narrow-${i}`);
    const wide = await costOf(9_000, 'wide');
    assert.ok(wide < 5 * narrow, `${wide} ms for 9,000 keys in one object, ${narrow} ms in ten`);
  });

  test('100,000 keys, and one key repeated, are refused with a Status and leave nothing', async () => {
    await unharmed(api, async () => {
      const before = await api.memory();
      const tooWide = await apply('too-wide', 'one', manyKeys(100_000));
      assert.equal(tooWide.status, 413);
      assert.equal(statusOf(tooWide).code, 413);
      const twice = `{"metadata":{"name":"twice"},"data":{${'"k":"v",'.repeat(9_000)}"k":"v"}}`;
      const strict = await api.call('POST', `${CONFIG_MAPS}?fieldValidation=Strict`, twice);
      assert.equal(strict.status, 400);
      assert.ok(strict.text.length < 10 * KB, `${strict.text.length} characters say that a key stands twice`);
      await api.givesBack(before, 30 * MB);
    });
  });
});
