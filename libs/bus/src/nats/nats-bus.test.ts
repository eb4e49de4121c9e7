import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { HEARTBEAT_SUBJECT } from '../subjects.ts';
import { createNatsBus } from './nats-bus.ts';

const INFO = { server_id: 'x', version: '2.9.10', proto: 1, headers: true, max_payload: 1_048_576 };

test('a subscription during a lost connection does not hang: the next connection subscribes again', async (t) => {
  let subscriptions = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (data.includes('SUB ')) {
        subscriptions += 1;
        socket.destroy();
      } else if (data.includes('PING')) socket.write('PONG\r\n');
    });
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const servers = [`nats://127.0.0.1:${port}`];
  const bus = createNatsBus({ servers, role: 'consumer', clock: createSystemClock(), log: createSilentLog() });
  t.after(() => bus.close());
  let isSubscribed = false;
  void bus.subscribe(HEARTBEAT_SUBJECT, { onMessage: () => {} }).then(() => {
    isSubscribed = true;
  });
  await eventually(() => isSubscribed && subscriptions > 1, 'it goes on, and is asked for again');
});
