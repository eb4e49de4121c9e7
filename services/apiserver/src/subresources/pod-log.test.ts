import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
import type { NodeGateway } from '../proxy/node-gateway.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';

async function withPod(nodes: NodeGateway | undefined, run: (api: TestApi) => Promise<void>): Promise<void> {
  const api = await startTestApi(nodes === undefined ? {} : { nodes: () => nodes });
  try {
    const containers = ['a', 'b'].map((name) => ({ name, image: 'i' }));
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers, nodeName: 'n1' } };
    const created = await api.call('POST', PODS, { body });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    await run(api);
  } finally {
    await api.stop();
  }
}

test('logs are requested from the kubelet of the node, with the requested options only', async () => {
  const asked: { node: string; path: string; query: string }[] = [];
  const request = async (node: string, { path, query }: ApiRequest) => {
    asked.push({ node, path, query: String(query) });
    return { status: 200, headers: {}, body: { kind: 'text', contentType: 'text/plain', text: 'written' } } as const;
  };
  await withPod({ request }, async (api) => {
    const answer = await api.call('GET', `${PODS}/p/log?container=b&follow=true&tailLines=5&previous=false&other=1`);
    assert.equal(answer.status, 200);
    assert.deepEqual(asked, [{ node: 'n1', path: '/containerLogs/default/p/b', query: 'follow=true&tailLines=5' }]);
    const unclear = await api.call('GET', `${PODS}/p/log`);
    assert.deepEqual(
      [unclear.status, unclear.textAt('message')],
      [400, 'a container name must be specified for pod p, choose one of: [a b]'],
    );
    const bad = await api.call('GET', `${PODS}/p/log?container=a&limitBytes=0`);
    assert.deepEqual([bad.status, bad.textAt('reason')], [422, 'Invalid']);
    assert.equal((await api.call('GET', `${PODS}/none/log`)).status, 404);
    assert.equal(asked.length, 1);
  });
});

test('a server without a connection to kubelets reports it', async () => {
  await withPod(undefined, async (api) => {
    const answer = await api.call('GET', `${PODS}/p/log?container=a`);
    assert.equal(answer.status, 501);
    assert.match(answer.textAt('message'), /no connection to kubelets/);
  });
});
