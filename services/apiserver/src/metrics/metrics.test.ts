import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { startTestApi } from '../testing/fixture.ts';

test('requests are counted under the standard metric names, and unknown ones share a series', async () => {
  const api = await startTestApi();
  const pods = '/api/v1/namespaces/default/pods';
  await api.call('GET', pods);
  await api.call('GET', pods);
  await api.call('GET', `${pods}/nope`);
  for (const name of ['x', 'y', 'z']) await api.call('GET', `/api/v1/${name}`);
  const { body, headers } = await api.call('GET', '/metrics');
  const text = String(body);
  assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  const lines = text.split('\n').filter((line) => line.startsWith('apiserver_request_total{verb="LIST"'));
  assert.deepEqual(lines, [
    'apiserver_request_total{verb="LIST",group="",version="v1",resource="pods",subresource="",scope="namespace",code="200"} 2',
    'apiserver_request_total{verb="LIST",group="",version="",resource="other",subresource="",scope="",code="404"} 3',
  ]);
  assert.match(text, /apiserver_request_total\{verb="GET",[^}]*resource="pods"[^}]*code="404"\} 1/);
  assert.match(text, /apiserver_request_duration_seconds_bucket\{[^}]*le="\+Inf"\} 2/);
  assert.match(text, /apiserver_storage_objects\{resource="namespaces"\} 4/);
  assert.equal((await api.call('GET', '/metrics', { as: 'nobody' })).status, 403);
  await api.stop();
});

test('writes are counted by their methods, as rules of kube-prometheus select them', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const maps = '/api/v1/namespaces/default/configmaps';
  await api.call('POST', maps, { body: { metadata: { name: 'one' } } });
  await api.call('PUT', `${maps}/one`, { body: { metadata: { name: 'one' }, data: { a: 'b' } } });
  const text = String((await api.call('GET', '/metrics')).body);
  for (const verb of ['POST', 'PUT']) {
    const series = `\\{verb="${verb}",group="",version="v1",resource="configmaps",subresource="",scope="`;
    assert.match(text, new RegExp(`^apiserver_request_total${series}.*code="20[01]"\\} 1$`, 'm'));
    assert.match(text, new RegExp(`^apiserver_request_sli_duration_seconds_bucket${series}.*le="1"\\} 1$`, 'm'));
  }
  assert.match(text, /^kubernetes_build_info\{major="1",minor="32",git_version="v1\.32\.0/m);
});

test('unserved versions and subresources create no series', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const pod = (version: string, name: string): string => `/api/${version}/namespaces/default/pods/p/${name}`;
  for (const name of ['nope', 'never', 'constructor', 'status']) await api.call('GET', pod('v1', name));
  for (const version of ['v7', 'v8', 'v9']) await api.call('GET', pod(version, ''));
  const { body } = await api.call('GET', '/metrics');
  const lines = String(body)
    .split('\n')
    .filter((line) => /^apiserver_request_total\{verb="GET",.*resource="(?:pods|other)"/.test(line));
  assert.deepEqual(lines, [
    'apiserver_request_total{verb="GET",group="",version="v1",resource="pods",subresource="",scope="resource",code="404"} 3',
    'apiserver_request_total{verb="GET",group="",version="v1",resource="pods",subresource="status",scope="resource",code="404"} 1',
    'apiserver_request_total{verb="GET",group="",version="",resource="other",subresource="",scope="",code="404"} 3',
  ]);
});

test('[CVE-2020-8552] values in unauthorized requests create no metric series, however many are sent', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
  const scan = async (from: number, to: number): Promise<number> => {
    for (let at = from; at < to; at++) {
      const pods = `/api/v1/namespaces/n${at}/pods`;
      const urls = [
        `/x${at}`,
        `/api/v${at}/pods`,
        `/api/v1/kind${at}`,
        `/apis/g${at}.example.com/v1/things`,
        `/apis/apps/v${at}/deployments/d`,
        `${pods}?labelSelector=l${at}=v${at}&fieldSelector=metadata.name=f${at}`,
        `${pods}/p${at}`,
        `${pods}/p${at}/sub${at}`,
        `${pods}/p${at}/status/${at}`,
      ];
      for (const url of urls) {
        for (const as of ['anonymous', 'nobody', `stranger-${at}`]) {
          for (const method of methods) await api.call(method, url, { as, headers: { 'user-agent': `agent-${at}` } });
        }
      }
    }
    const { body } = await api.call('GET', '/metrics');
    return String(body)
      .split('\n')
      .filter((line) => !line.startsWith('#')).length;
  };
  await scan(0, 1);
  const after = await scan(1, 2);
  assert.equal(await scan(2, 12), after);
});
