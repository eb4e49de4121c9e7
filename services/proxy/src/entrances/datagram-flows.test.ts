import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { DATAGRAM_FLOW_IDLE_MS, DATAGRAMS_WAITING_MAX, ENTRANCE_CONNECTIONS_MAX } from '../limits.ts';
import { DatagramFlows } from './datagram-flows.ts';
import { EntrancePlaces } from './entrance-places.ts';
import type { DatagramPeer, Place } from './port.ts';

const POD = { host: '10.244.0.2', port: 53 };

/** Endpoints that repeat what they hear, when the test has let the connections to them succeed. */
function rig() {
  const clock = createVirtualClock();
  const heard: string[] = [];
  const answers: string[] = [];
  const ready = Promise.withResolvers<void>();
  let open = 0;
  const dial = async ({ host }: Place, listener: { message(bytes: Uint8Array): void }): Promise<DatagramPeer> => {
    await ready.promise;
    open += 1;
    return {
      send: (bytes) => {
        heard.push(`${host} ${String(bytes)}`);
        listener.message(bytes);
      },
      close: () => (open -= 1),
    };
  };
  const flows = new DatagramFlows({ clock, dial, places: new EntrancePlaces() });
  const send = (port: number, text: string, to = POD, address = '192.0.2.1'): void => {
    const answer = (bytes: Uint8Array): void => void answers.push(`${port} ${String(bytes)}`);
    flows.carry(Buffer.from(text), { address, port, answer }, { entrance: 'dns', namespace: 'shop', to });
  };
  return { clock, flows, heard, answers, send, ready: () => ready.resolve(), open: () => open };
}

test('each client has a flow, and gets its own answers; what came before the flow was there follows', async () => {
  const { send, heard, answers, ready, open } = rig();
  send(1, 'a');
  send(2, 'b');
  for (let i = 0; i < DATAGRAMS_WAITING_MAX + 5; i++) send(1, 'a');
  ready();
  await nextTurn();
  assert.equal(heard.length, DATAGRAMS_WAITING_MAX + 1);
  send(1, 'last');
  assert.equal(answers.at(-1), '1 last');
  assert.ok(answers.includes('2 b'));
  assert.equal(open(), 2);
});

test('a flow ends when it is idle or its port is closed; another address of the pod begins another one', async () => {
  const { clock, flows, send, heard, ready, open } = rig();
  ready();
  send(1, 'a');
  send(1, 'b', { ...POD, host: '10.244.0.9' });
  await nextTurn();
  assert.deepEqual(heard, ['10.244.0.2 a', '10.244.0.9 b']);
  await clock.advance(DATAGRAM_FLOW_IDLE_MS / 2);
  send(1, 'c');
  await clock.advance(DATAGRAM_FLOW_IDLE_MS / 2);
  assert.equal(open(), 1, 'the one that was used goes on');
  flows.close('dns');
  assert.deepEqual([open(), clock.pendingTimers()], [0, 0]);
});

test('one client leaves flows of a port to others', async () => {
  const { send, heard, ready } = rig();
  ready();
  for (let port = 1; port <= ENTRANCE_CONNECTIONS_MAX; port++) send(port, 'greedy');
  send(1, 'other', POD, '192.0.2.2');
  await nextTurn();
  assert.equal(heard.filter((each) => each.endsWith('greedy')).length, ENTRANCE_CONNECTIONS_MAX / 2);
  assert.equal(heard.at(-1), '10.244.0.2 other');
});
