import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { eventually } from '@holdfast/platform/contract';
import { ApiLoad } from './load.ts';

/** An API over one map of objects. `tells`: what a read of an object is told. */
function makeApi(tells: (name: string, stored: ConfigMap | undefined) => ConfigMap | undefined) {
  const stored = new Map<string, ConfigMap>();
  const keep = async (name: string, data: ConfigMap['data']): Promise<void> => {
    stored.set(name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...(data && { data }) });
  };
  const admin = {
    find: async (_kind: object, { name }: { readonly name: string }) => tells(name, stored.get(name)),
    list: async () => ({ items: [...stored.values()] }),
    create: (_kind: object, { metadata, data }: ConfigMap) => keep(metadata.name ?? '', data),
    patch: (_kind: object, { name }: { readonly name: string }, { body }: { readonly body: Pick<ConfigMap, 'data'> }) =>
      keep(name, body.data),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it uses nothing else of it
  return { stored, admin: admin as unknown as ApiClient };
}

test('a write that is gone for a time is found, although it is written again', async () => {
  let isLost = false;
  const { stored, admin } = makeApi((name, object) => {
    if (name !== 'load-0' || object === undefined || isLost) return object;
    isLost = true;
    return undefined;
  });
  await using load = new ApiLoad(admin);
  await eventually(() => isLost && stored.has('load-1'), 'an object was written again');
  await load.stop();
  await assert.rejects(load.judge(), /^Error: load-0 had undefined at a time, and 0 was acknowledged$/);
});

test('a load whose writes are kept is fine', async () => {
  const { stored, admin } = makeApi((_name, object) => object);
  await using load = new ApiLoad(admin);
  await eventually(() => stored.get('load-0')?.data?.['count'] === '50', 'an object was written again');
  await load.stop();
  assert.match(await load.judge(), /^\d+ writes acknowledged and kept, 0 refused/);
});
