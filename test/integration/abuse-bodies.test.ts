import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AbusedApi, type Reply, statusOf, unharmed } from '../support/abused-api.ts';

const MB = 1024 * 1024;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };
const YAML = { 'content-type': 'application/yaml' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

describe('bodies', () => {
  let api: AbusedApi;
  before(async () => {
    api = await AbusedApi.start();
    const data = { a: 'x'.repeat(1_000) };
    assert.equal(
      (await api.call('POST', CONFIG_MAPS, JSON.stringify({ metadata: { name: 'target' }, data }))).status,
      201,
    );
  });
  after(() => api[Symbol.asyncDispose]());

  const refusedWith = (code: number, reply: Reply): void => refusedWithOneOf([code], reply);
  const refusedWithOneOf = (codes: readonly number[], reply: Reply): void => {
    assert.ok(codes.includes(reply.status), `${reply.status} ${reply.text.slice(0, 500)}`);
    assert.equal(statusOf(reply).code, reply.status);
    assert.ok(reply.text.length < 0.1 * MB, 'a refusal does not send the abuse back');
  };

  test('a body over the limit is 413, with or without a declared length, and is not read to its end', async () => {
    await unharmed(api, async () => {
      const connection = await api.connect();
      const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n`;
      connection.socket.write(`${head}Content-Length: 1000000000000\r\n\r\n`);
      await connection.closed();
      assert.equal(statusOf(connection).code, 413);
      const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
      // Each time: a connection that is closed while something unread has come may take the answer with it.
      for (let time = 0; time < 10; time += 1) {
        const chunked = await api.connect();
        chunked.socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
        for (let i = 0; i < 100 && !chunked.ended; i += 1) await chunked.write(chunk);
        await chunked.closed();
        assert.equal(statusOf(chunked).code, 413);
      }
    });
  });

  test('thirty concurrent bodies of 3 MB stay within bounds', async () => {
    await unharmed(api, async () => {
      const before = await api.memory();
      const data = { x: 'x'.repeat(3 * MB - 100) };
      const body = JSON.stringify({ metadata: { name: 'x' }, data });
      const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nConnection: close\r\n`;
      const request = Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      const senders = await Promise.all(Array.from({ length: 30 }, () => api.connect()));
      for (const { socket } of senders) socket.write(request);
      await Promise.all(senders.map((sender) => sender.closed()));
      for (const sender of senders) {
        const { code } = statusOf(sender);
        assert.ok([413, 422, 429].includes(code), `${code} ${sender.text.slice(0, 200)}`);
      }
      await api.givesBack(before, 30 * MB);
    });
  });

  const LEVELS = 100_000;
  const DEEP = [
    ['arrays', `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`],
    ['objects', `${'{"a":'.repeat(LEVELS)}1${'}'.repeat(LEVELS)}`],
    ['arrays that never close', '['.repeat(LEVELS)],
  ] as const;
  for (const [what, text] of DEEP) {
    test(`100,000 levels of ${what} are refused, in every form`, async () => {
      await unharmed(api, async () => {
        const url = `${CONFIG_MAPS}/target`;
        refusedWith(400, await api.call('POST', CONFIG_MAPS, text));
        refusedWith(400, await api.call('POST', CONFIG_MAPS, `{"metadata":{"name":"deep"},"data":${text}}`));
        refusedWith(400, await api.call('PUT', url, text));
        refusedWith(400, await api.call('PATCH', url, text, JSON_PATCH));
        refusedWith(400, await api.call('PATCH', url, text, MERGE_PATCH));
        refusedWith(
          400,
          await api.call('PATCH', url, text, { 'content-type': 'application/strategic-merge-patch+json' }),
        );
        // Invalid deletion options get Kubernetes' response.
        refusedWithOneOf([400, 500], await api.call('DELETE', url, text));
        refusedWithOneOf([400, 413], await api.call('POST', CONFIG_MAPS, text, YAML));
        refusedWithOneOf([400, 413], await api.call('PATCH', `${url}?fieldManager=m`, text, APPLY));
        refusedWith(400, await api.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', text));
      });
    });
  }

  test('YAML that grows by its aliases is refused', async () => {
    const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 30; i += 1)
      lines.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(',')}]`);
    const bomb = lines.join('\n');
    const cycle = 'metadata: &m\n  name: x\n  labels: *m\n';
    await unharmed(api, async () => {
      refusedWith(400, await api.call('POST', CONFIG_MAPS, bomb, YAML));
      refusedWith(400, await api.call('PATCH', `${CONFIG_MAPS}/target?fieldManager=m`, bomb, APPLY));
      refusedWith(400, await api.call('POST', CONFIG_MAPS, cycle, YAML));
      refusedWith(400, await api.call('PATCH', `${CONFIG_MAPS}/target?fieldManager=m`, cycle, APPLY));
    });
  });

  test('YAML with a hundred thousand keys, anchors, tags, errors or documents does not block others', async () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `  k${i}: &a${i} v`).join('\n');
    await unharmed(api, async () => {
      const fewer = `metadata: {name: many}\ndata:\n${keys.slice(0, keys.indexOf('k9000:'))}z: z\n`;
      const dryRun = `${CONFIG_MAPS}?dryRun=All`;
      assert.equal((await api.call('POST', dryRun, fewer, YAML)).status, 201);
      refusedWith(413, await api.call('POST', dryRun, `metadata: {name: many}\ndata:\n${keys}\n`, YAML));
      for (const mistakes of ['&a ', '!!str ', ']', '%YAML\n'])
        refusedWith(400, await api.call('POST', dryRun, mistakes.repeat(10_000), YAML));
      // Only the first of many documents is read: an object without a name.
      refusedWith(422, await api.call('POST', dryRun, '---\n'.repeat(10_000), YAML));
      refusedWith(413, await api.call('POST', dryRun, '- !a b\n'.repeat(50_000), YAML));
    });
  });

  test('keys named like JavaScript members are plain data', async () => {
    await unharmed(api, async () => {
      const hostile = '{"__proto__":"p","constructor":"c","prototype":"x","hasOwnProperty":"h","toString":"t"}';
      const named = (name: string): string => `{"metadata":{"name":"${name}"},"data":${hostile}}`;
      assert.equal((await api.call('POST', CONFIG_MAPS, named('hostile'))).status, 201);
      const patched = await api.call('PATCH', `${CONFIG_MAPS}/target`, `{"data":${hostile}}`, MERGE_PATCH);
      assert.equal(patched.status, 200, patched.text);
      const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
      assert.equal((await api.call('PATCH', `${CONFIG_MAPS}/target`, `{"data":${hostile}}`, strategic)).status, 200);
      const operations = [
        { op: 'add', path: '/data/__proto__', value: 'q' },
        { op: 'copy', from: '/data/__proto__', path: '/data/constructor' },
      ];
      const json = await api.call('PATCH', `${CONFIG_MAPS}/target`, JSON.stringify(operations), JSON_PATCH);
      assert.equal(json.status, 200, json.text);
      const climbing = [{ op: 'add', path: '/constructor/prototype/polluted', value: 'x' }];
      refusedWith(422, await api.call('PATCH', `${CONFIG_MAPS}/target`, JSON.stringify(climbing), JSON_PATCH));
      for (const name of ['hostile', 'target']) {
        const { data } = JSON.parse((await api.call('GET', `${CONFIG_MAPS}/${name}`)).text);
        for (const key of ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString']) {
          assert.ok(Object.hasOwn(data, key), `${name} has ${key}`);
        }
      }
      const applied = `{"apiVersion":"v1","kind":"ConfigMap",${named('applied').slice(1)}`;
      assert.equal((await api.call('PATCH', `${CONFIG_MAPS}/applied?fieldManager=m`, applied, APPLY)).status, 201);
    });
  });

  test('labels, kinds and metadata with such names are values like any other', async () => {
    await unharmed(api, async () => {
      const labels = '{"constructor":"c","toString":"t"}';
      const body = `{"metadata":{"name":"labelled","labels":${labels},"annotations":{"__proto__":"x"}}}`;
      const reply = await api.call('POST', CONFIG_MAPS, body);
      assert.ok([201, 422].includes(reply.status), reply.text);
      assert.equal((await api.call('GET', `${CONFIG_MAPS}?labelSelector=constructor%3Dc,toString`)).status, 200);
      const selected = JSON.parse((await api.call('GET', `${CONFIG_MAPS}?labelSelector=hasOwnProperty`)).text);
      assert.deepEqual(selected.items, []);
      refusedWith(
        400,
        await api.call('POST', CONFIG_MAPS, '{"kind":"__proto__","apiVersion":"constructor","metadata":{}}'),
      );
      refusedWith(400, await api.call('POST', CONFIG_MAPS, '{"metadata":"__proto__"}'));
      const polluting = '{"metadata":{"name":"pollute","__proto__":{"namespace":"kube-system","finalizers":["a/b"]}}}';
      const polluted = await api.call('POST', CONFIG_MAPS, polluting);
      assert.equal(polluted.status, 201, polluted.text);
      assert.equal(JSON.parse(polluted.text).metadata.namespace, 'default');
      assert.equal(JSON.parse(polluted.text).metadata.finalizers, undefined);
    });
  });

  test('JSON patches with too many operations, or with repeatedly doubling copies, are refused', async () => {
    await unharmed(api, async () => {
      const before = await api.memory();
      const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: 'x' }));
      refusedWith(413, await api.call('PATCH', `${CONFIG_MAPS}/target`, JSON.stringify(many), JSON_PATCH));
      const doubling = [
        { op: 'add', path: '/metadata/bomb', value: { a: 'x'.repeat(1_000) } },
        ...Array.from({ length: 100 }, (_, i) => ({
          op: 'copy',
          from: '/metadata/bomb',
          path: `/metadata/bomb/c${i}`,
        })),
      ];
      refusedWith(422, await api.call('PATCH', `${CONFIG_MAPS}/target`, JSON.stringify(doubling), JSON_PATCH));
      const allowed = Array.from({ length: 9_000 }, (_, i) => ({ op: 'add', path: `/data/k${i}`, value: 'v' }));
      assert.equal(
        (await api.call('PATCH', `${CONFIG_MAPS}/target?dryRun=All`, JSON.stringify(allowed), JSON_PATCH)).status,
        200,
      );
      const deepPaths = [{ op: 'add', path: '/data/a'.repeat(100_000), value: 'v' }];
      refusedWith(422, await api.call('PATCH', `${CONFIG_MAPS}/target`, JSON.stringify(deepPaths), JSON_PATCH));
      await api.givesBack(before, 50 * MB);
    });
  });

  test('an invalid protobuf body is refused', async () => {
    const protobuf = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    await unharmed(api, async () => {
      refusedWith(400, await api.call('POST', CONFIG_MAPS, 'k8s\0\u000a\u0012\u007f\u007f', protobuf));
      refusedWith(400, await api.call('POST', CONFIG_MAPS, 'nonsense', protobuf));
      refusedWith(400, await api.call('POST', CONFIG_MAPS, `k8s\0${'\u0012\u0001'.repeat(100_000)}`, protobuf));
    });
  });
});
