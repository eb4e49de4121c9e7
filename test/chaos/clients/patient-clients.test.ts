import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { eventually } from '@holdfast/platform/contract';
import { PatientClients } from './patient-clients.ts';

/** API servers over one map of objects. `refuses`: which of them answers with an error. */
function makeServers(count: number, refuses: (server: number) => boolean) {
  const stored = new Map<string, ConfigMap>();
  const keep = async (server: number, object: ConfigMap): Promise<ConfigMap> => {
    if (refuses(server)) throw new Error('503');
    stored.set(object.metadata.name ?? '', object);
    return object;
  };
  const users = Array.from({ length: count }, (_, server) => {
    const user = {
      find: async (_kind: object, { name }: { readonly name: string }) => stored.get(name),
      list: async () => ({ items: [...stored.values()] }),
      create: (_kind: object, object: ConfigMap) => keep(server, object),
      update: (_kind: object, object: ConfigMap) => keep(server, object),
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they use nothing else of it
    return user as unknown as ApiClient;
  });
  const [admin] = users;
  assert.ok(admin !== undefined);
  return { stored, users, admin };
}

test('patient clients go on with the servers that answer, and nothing is broken', async () => {
  const { users, admin } = makeServers(3, (server) => server === 1);
  const clients = new PatientClients(users);
  await eventually(() => clients.answered.length > 10, 'all clients have written');
  await clients.stop();
  assert.deepEqual(await clients.broken(admin, 60), []);
  const [slow, ...others] = await clients.broken(admin, 0);
  assert.match(slow ?? '', /^a write took \d+\.\d s, and 0 s are the limit$/);
  assert.deepEqual(others, []);
});

test('a write that was acknowledged and is gone is found', async () => {
  const { stored, users, admin } = makeServers(1, () => false);
  const clients = new PatientClients(users);
  await eventually(() => clients.answered.length > 2, 'the client has written');
  await clients.stop();
  const kept = stored.get('patient-0');
  assert.ok(kept !== undefined);
  stored.set('patient-0', { ...kept, data: { count: '0' } });
  const [lost] = await clients.broken(admin, undefined);
  assert.match(lost ?? '', /^patient-0 has 0, and \d+ was acknowledged$/);
});

test('a write that is gone for a time is found, although the client writes it again', async () => {
  const { stored, users, admin } = makeServers(1, () => false);
  const clients = new PatientClients(users);
  await eventually(() => clients.answered.length > 2, 'the client has written');
  const kept = stored.get('patient-0');
  assert.ok(kept !== undefined);
  stored.set('patient-0', { ...kept, data: { count: '0' } });
  const before = clients.answered.length;
  await eventually(() => clients.answered.length > before + 1, 'the client has written again');
  await clients.stop();
  const [gone, ...others] = await clients.broken(admin, undefined);
  assert.match(gone ?? '', /^patient-0 had 0 at a time, and \d+ was acknowledged before$/);
  assert.deepEqual(others, []);
});

test('an attempt that comes late writes nothing over what is newer', async () => {
  const { stored, users, admin } = makeServers(2, () => false);
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const late = {
    ...users[0],
    find: async (_kind: object, { name }: { readonly name: string }) => {
      if (!isHeld && stored.has(name)) {
        isHeld = true;
        await held.promise;
      }
      return stored.get(name);
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they use nothing else of it
  const clients = new PatientClients([late as ApiClient, admin]);
  const countOf = (): number => Number(stored.get('patient-0')?.data?.['count']);
  await eventually(() => isHeld && countOf() > 3, 'the client goes on with the other server');
  held.resolve();
  await clients.stop();
  assert.deepEqual(await clients.broken(admin, undefined), []);
});

test('the longest time without an acknowledged write is counted from the beginning to the end', () => {
  const clients = new PatientClients([]);
  clients.answered.push(
    { beganMs: 0, endedMs: 900 },
    { beganMs: 1_000, endedMs: 4_000 },
    { beganMs: 0, endedMs: 4_500 },
  );
  assert.equal(clients.longestWithout(500, 5_000), 3_100);
  assert.equal(clients.longestWithout(4_000, 7_000), 2_500);
  assert.equal(clients.longestWithout(6_000, 7_000), 1_000);
});
