import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type KubeObject } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { brokenViews } from './views.ts';

const map = (name: string, resourceVersion: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name, resourceVersion },
});

/** API servers that show these ConfigMaps. */
function serversOf(...shown: readonly (readonly KubeObject[])[]) {
  return shown.map((items) => {
    const user = {
      list: async (kind: object) => ({ items: kind === CONFIG_MAPS ? items : [], resourceVersion: '9' }),
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
    return user as unknown as ApiClient;
  });
}

/** What is stored; a change comes while the log is read further. */
function logOf(stored: readonly KubeObject[], later = stored) {
  let isReached = false;
  const reach = async (): Promise<void> => void (isReached = true);
  const list = (kind: object) => (kind === CONFIG_MAPS ? (isReached ? later : stored) : []);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
  return { state: { list }, reach } as unknown as Parameters<typeof brokenViews>[1];
}

test('an API server that shows other objects than the store is found', async () => {
  const stored = [map('a', '3'), map('b', '5')];
  assert.deepEqual(await brokenViews({ users: serversOf(stored, stored) }, logOf(stored)), []);
  assert.deepEqual(await brokenViews({ users: serversOf(stored, stored.slice(0, 1)) }, logOf(stored)), [
    'API server 2 and the store differ: ConfigMap default/b at 5',
  ]);
  assert.deepEqual(await brokenViews({ users: serversOf([map('a', '2'), map('b', '5')]) }, logOf(stored)), [
    'API server 1 and the store differ: ConfigMap default/a at 2',
    'API server 1 and the store differ: ConfigMap default/a at 3',
  ]);
});

test('what changes while an API server is asked may be shown in either way', async () => {
  const [before, after] = [[map('a', '3')], [map('a', '8')]];
  for (const shown of [before, after])
    assert.deepEqual(await brokenViews({ users: serversOf(shown) }, logOf(before, after)), []);
});
