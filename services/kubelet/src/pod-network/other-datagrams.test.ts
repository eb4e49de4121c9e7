import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { placed, readPlaced } from './agent/udp-packets.ts';
import { DATAGRAM_PORT_IDLE_MS } from './limits.ts';
import { OtherDatagrams } from './other-datagrams.ts';

/** A server that repeats what it hears, and tells from which port. */
async function server(t: TestContext) {
  const heard: string[] = [];
  const socket: Socket = createSocket('udp4');
  socket.on('message', (bytes, from) => {
    heard.push(`${from.port}`);
    socket.send(`heard ${String(bytes)}`, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  const { port } = socket.address();
  return { place: { host: '127.0.0.1', port }, heard, socket };
}

function rig(t: TestContext, closedPort = 0) {
  const clock = createVirtualClock();
  const mayReach = async ({ port }: { readonly port: number }): Promise<boolean> => port !== closedPort;
  const others = new OtherDatagrams({ clock, mayReach }, { perHolder: 2, all: 3 });
  const answers: string[] = [];
  let next = Promise.withResolvers<void>();
  const open = (pod: string) => {
    const datagrams = others.open(pod, (podPort, text) => {
      const { place, bytes } = readPlaced(text) ?? {};
      answers.push(`${pod}:${podPort} from ${place?.port}: ${String(bytes)}`);
      next.resolve();
      next = Promise.withResolvers<void>();
    });
    t.after(() => datagrams.close());
    return datagrams;
  };
  return { clock, open, answers, answered: () => next.promise };
}

test('a port of a pod exchanges datagrams with several places, through one socket of the machine', async (t) => {
  const [one, two] = [await server(t), await server(t)];
  const { open, answers, answered } = rig(t);
  const pod = open('a');
  for (const each of [one, two, one]) {
    const answer = answered();
    await pod.receive(7, placed(each.place, Buffer.from('hi')));
    await answer;
  }
  const line = ({ place }: typeof one): string => `a:7 from ${place.port}: heard hi`;
  assert.deepEqual(answers, [line(one), line(two), line(one)]);
  assert.deepEqual(new Set([...one.heard, ...two.heard]).size, 1);
});

test('nobody is heard whom the pod has not asked, and no closed address is asked', async (t) => {
  const [asked, stranger] = [await server(t), await server(t)];
  const { open, answers, answered } = rig(t, stranger.place.port);
  const pod = open('a');
  const first = answered();
  await pod.receive(7, placed(stranger.place, Buffer.from('hi')));
  await pod.receive(7, placed(asked.place, Buffer.from('hi')));
  await first;
  const [port = ''] = asked.heard;
  const second = answered();
  // Arrives before the answer: both wait in the queue of one socket.
  await new Promise((sent) => stranger.socket.send('I am here', Number(port), '127.0.0.1', sent));
  await pod.receive(7, placed(asked.place, Buffer.from('again')));
  await second;
  assert.deepEqual(stranger.heard, []);
  assert.deepEqual(
    answers.map((each) => each.split(': ')[1]),
    ['heard hi', 'heard again'],
  );
});

test('sockets are bounded for each pod and shared by all, and close when they are idle', async (t) => {
  const { place, heard, socket } = await server(t);
  const { open, clock, answered, answers } = rig(t);
  const ask = async (pod: ReturnType<typeof open>, port: number): Promise<void> => {
    const before = heard.length;
    const answer = answered();
    await pod.receive(port, placed(place, Buffer.from('hi')));
    await answer;
    assert.equal(heard.length, before + 1);
  };
  const [greedy, quiet] = [open('greedy'), open('quiet')];
  await ask(greedy, 1);
  await ask(greedy, 2);
  await greedy.receive(3, placed(place, Buffer.from('too many')));
  await ask(quiet, 1);
  await ask(open('third'), 1);
  assert.equal(clock.pendingTimers(), 3, 'the greediest pod has lost a socket');
  assert.equal(
    answers.some((each) => each.includes('too many')),
    false,
  );
  await clock.advance(DATAGRAM_PORT_IDLE_MS);
  assert.equal(clock.pendingTimers(), 0);
  const [old = ''] = heard;
  const told = answers.length;
  await new Promise((sent) => socket.send('late', Number(old), '127.0.0.1', sent));
  await ask(quiet, 1);
  assert.equal(answers.length, told + 1);
});
