import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ConfigMap, Lease } from '@holdfast/api';
import { type ApiClient, TransportError } from '@holdfast/client';
import { createSeededRandom, createSystemClock, nextTurn } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { NO_CLIENTS } from '../../scenario/clients.ts';
import { Clients } from './clients.ts';

const COUNTS = { ...NO_CLIENTS, registers: 1, creates: 1, counters: 1, leases: 1 };
const clock = createSystemClock();

function clientsOf(t: TestContext, user: object): Clients {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they use nothing else of it
  const users = [user as unknown as ApiClient];
  const random = createSeededRandom(1, 'clients');
  const scenery = { users, random, now: () => clock.monotonic(), sleep: nextTurn };
  const clients = new Clients(scenery, COUNTS);
  t.after(() => clients.stop());
  return clients;
}

test('clients that nobody answers have nothing to judge, and that is told', async (t) => {
  let asked = 0;
  const nobody = async (): Promise<never> => {
    asked++;
    throw new TransportError('no answer', { possiblySent: true });
  };
  const clients = clientsOf(t, { find: nobody, create: nobody, update: nobody, delete: nobody });
  await eventually(() => asked > 20, 'all clients have asked');
  await clients.stop();
  assert.deepEqual(
    clients.unheard().map((story) => /\((\w+)\)/.exec(story)?.[1]),
    ['registers', 'creates', 'counters', 'leases'],
  );
});

test('clients that are answered have something to judge', async (t) => {
  const stored = new Map<string, ConfigMap | Lease>();
  const keep = async (_kind: object, object: ConfigMap | Lease): Promise<ConfigMap | Lease> => {
    stored.set(object.metadata.name ?? '', object);
    return object;
  };
  const clients = clientsOf(t, {
    find: async (_kind: object, { name }: { readonly name: string }) => stored.get(name),
    create: keep,
    update: keep,
    delete: async (_kind: object, { name }: { readonly name: string }) => stored.delete(name),
  });
  await eventually(() => clients.unheard().length === 0, 'all clients are told that something happened');
  await clients.stop();
});
