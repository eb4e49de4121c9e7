import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { askUpstream } from './upstream.ts';

const clock = createSystemClock();

test('an unreachable name server is skipped: the next one is queried, and the process survives', async (t) => {
  const reachable = createSocket('udp4');
  t.after(() => reachable.close());
  reachable.on('message', (query, from) => reachable.send(query, from.port, from.address));
  reachable.bind(0, '127.0.0.1');
  await once(reachable, 'listening');
  const { port } = reachable.address();
  // Connecting to a broadcast address fails on every machine.
  const servers = async (): Promise<string[]> => ['255.255.255.255', '127.0.0.1'];
  const bytes = Buffer.alloc(12, 7);
  const query = { bytes, transport: 'udp', signal: new AbortController().signal } as const;
  assert.deepEqual(await askUpstream({ clock, servers, port }, query), bytes);
  const none = async (): Promise<string[]> => ['255.255.255.255'];
  await assert.rejects(askUpstream({ clock, servers: none, port }, query), { syscall: 'connect' });
});
