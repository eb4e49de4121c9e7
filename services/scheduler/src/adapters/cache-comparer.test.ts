import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES, PODS } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createPodInfo } from '../domain/pod-info.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf } from '../testing/cluster.ts';
import { compareCache } from './cache-comparer.ts';

test('every inconsistency of the cache is reported; waiting and finished pods are not compared', async () => {
  const api = new FakeApi(createVirtualClock());
  const client = createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'test' });
  const put = (name: string, nodeName?: string, phase = 'Pending'): void => {
    const pod = buildPod(name, nodeName === undefined ? {} : { nodeName });
    api.put(pathFor(PODS, 'default', name), Object.assign(pod, { status: { phase } }));
  };
  for (const name of ['n1', 'new']) api.put(pathFor(NODES, '', name), buildNode(name));
  put('right', 'n1');
  put('unseen', 'n1');
  put('moved', 'n1');
  put('waiting');
  put('done', 'n1', 'Succeeded');
  const on = (name: string, nodeName: string) => buildPod(name, { nodeName });
  const cache = clusterOf(
    [buildNode('n1'), buildNode('old')],
    [on('right', 'n1'), on('moved', 'old'), on('gone', 'n1')],
  );
  cache.assume(createPodInfo(buildPod('waiting')), 'n1');
  assert.deepEqual(await compareCache(client, cache), {
    nodes: { missing: ['new'], redundant: ['old'] },
    pods: {
      missing: ['default/unseen uid-default-unseen'],
      redundant: ['default/gone uid-default-gone'],
      onOtherNode: ['default/moved uid-default-moved'],
    },
    assumed: ['default/waiting uid-default-waiting'],
  });
});
