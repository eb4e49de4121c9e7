import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  createPodNetwork,
  networkRefusal,
  OTHER_NETWORKS,
  type OutsideTarget,
  type PodNetwork,
  wayOutRefusal,
} from '@holdfast/kubelet/pod-network';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { ensurePackages, findOnPath } from '../../tools/setup/packages.ts';
import { waitFor } from '../support/wait.ts';

const NODE = '10.244.3.0/24';

if (findOnPath('ip') === undefined) ensurePackages(['iproute2']);
if (findOnPath('nft') === undefined) ensurePackages(['nftables']);

function folder(t: TestContext): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-network-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const DNS_RELAY = { address: '10.96.0.10', port: 53, protocol: 'udp', target: 'outside' } as const;

type Target = [name: string, target: OutsideTarget];

async function open(t: TestContext, directory: string, port = 0, ...more: readonly Target[]): Promise<PodNetwork> {
  const network = createPodNetwork({
    directory,
    clusterNetwork: '10.244.0.0/16',
    clock: createSystemClock(),
    log: createSilentLog(),
    targets: new Map<string, OutsideTarget>([['outside', { tcp: () => ({ host: '127.0.0.1', port }) }], ...more]),
    relays: () => [{ address: '10.96.0.1', port: 443, protocol: 'tcp', target: 'outside' }, DNS_RELAY],
  });
  await network.start();
  t.after(() => network.shutdown());
  return network;
}

test('this machine can make networks of pods', async () => {
  assert.equal(await networkRefusal(), '');
});

test('namespaces and their addresses outlive the control plane, and a freed one leaves nothing', async (t) => {
  const directory = folder(t);
  const first = await open(t, directory);
  const [one, two] = await Promise.all([first.attach('n/a/0', NODE), first.attach('n/b/0', NODE)]);
  assert.deepEqual([one.address, two.address].toSorted(), ['10.244.3.2', '10.244.3.3']);
  assert.deepEqual(await first.attach('n/a/0', NODE), one);
  await first.close();
  const second = await open(t, directory);
  assert.deepEqual(await second.attach('n/a/0', NODE), one);
  await second.detach('n/b/0');
  assert.deepEqual(await second.attached(), [one]);
  assert.equal(existsSync(two.path), false);
  assert.equal((await second.attach('n/c/0', NODE)).address, '10.244.3.4');
});

test('what listens in the network is reached from outside, and the network reaches its targets', async (t) => {
  const server = createServer((_request, response) => response.end('from outside')).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await waitFor('the server', () => server.listening);
  const network = await open(t, folder(t), (server.address() as AddressInfo).port);
  await assert.rejects(network.dial({ host: '10.244.3.2', port: 9 }), /EHOSTUNREACH|ENETUNREACH/);
  const { address: host } = await network.attach('n/a/0', NODE);
  await assert.rejects(network.dial({ host, port: 9, key: 'n/a/0' }), /ECONNREFUSED 127\.0\.0\.1:9/);
  const socket = await network.dial({ host: '10.96.0.1', port: 443 });
  socket.end('GET / HTTP/1.0\r\n\r\n');
  const parts: string[] = [];
  for await (const part of socket) parts.push(String(part));
  assert.match(parts.join(''), /from outside$/);
});

test('the end of the agent takes every namespace with it and is reported; the next pod gets a new network', async (t) => {
  const network = await open(t, folder(t));
  const { agent, path: file } = await network.attach('n/a/0', NODE);
  let isLost = false;
  network.onLost(() => (isLost = true));
  process.kill(agent, 'SIGKILL');
  await waitFor('the report of the loss', () => isLost);
  assert.equal(existsSync(file), false);
  assert.deepEqual(await network.attached(), []);
  assert.notEqual((await network.attach('n/b/0', NODE)).agent, agent);
});

/** What a network policy loads, in short. */
const CUT = `table ip cut {
  chain cut {
    type filter hook forward priority filter;
    ip daddr 192.0.2.3 tcp dport 443 reject with icmp type admin-prohibited
    ip daddr 192.0.2.3 udp dport 123 reject with icmp type admin-prohibited
  }
}`;

/** Connects to each place from inside the namespace of a pod and prints what comes back, or the code of the failure. */
const CONNECT = `
const { connect } = require('node:net');
const { createSocket } = require('node:dgram');
const [places, ...udp] = JSON.parse(process.argv[1]);
const ask = ([host, port]) => new Promise((resolve) => {
  const socket = connect({ host, port }, () => socket.end('hello'));
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.on('error', ({ code }) => resolve(code));
  socket.on('end', () => resolve(text));
});
const send = ([host, port]) => new Promise((resolve) => {
  const socket = createSocket('udp4');
  socket.on('error', ({ code }) => { resolve(code); socket.close(); });
  socket.on('message', (bytes) => { resolve(bytes.length > 99 ? bytes.length : String(bytes)); socket.close(); });
  socket.connect(port, host, () => socket.send('hello'));
});
Promise.all([...places.map(ask), ...udp.map(send)]).then((all) => console.log(JSON.stringify(all)));
`;

const insidePod = (path_: string, agent: number, ...args: readonly string[]): Promise<unknown> =>
  runInside({ path: path_, agent }, CONNECT, ...args);

/** With every right in the namespace, which pods do not have. */
async function runInside(
  { path: path_, agent }: { readonly path: string; readonly agent: number },
  script: string,
  ...args: readonly string[]
): Promise<unknown> {
  const user = process.getuid?.() === 0 ? [] : [`--user=/proc/${agent}/ns/user`, '--preserve-credentials'];
  const command = [...user, `--net=${path_}`, '--', process.execPath, '-e', script, ...args];
  const child = spawn('nsenter', command, { stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000 });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(child, 'close');
  return JSON.parse(text);
}

test('pods reach other networks by TCP and UDP where rules for pods let them, and learn what is refused', async (t) => {
  assert.equal(wayOutRefusal(), '');
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => void socket.write(`heard ${String(chunk)}`));
    socket.on('end', () => socket.end(', and the end'));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await waitFor('the server', () => server.listening);
  const asked: string[] = [];
  const reach: OutsideTarget['reach'] = async ({ host, port }) => {
    asked.push(`${host}:${port}`);
    if (host === '198.51.100.1') throw new Error('refused');
    return connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true });
  };
  const exchange: OutsideTarget['exchange'] = (source, say) => ({
    receive: async (podPort, text) => {
      const toPort = text.readUInt16BE(4);
      asked.push(`${text.subarray(0, 4).join('.')}:${toPort} by ${source} says ${String(text.subarray(6))}`);
      // The place that it comes from, then more than one packet of a link takes.
      say(podPort, toPort === 124 ? Buffer.concat([text, Buffer.alloc(5_000)]) : text);
    },
    close: () => undefined,
  });
  const network = await open(t, folder(t), 0, [OTHER_NETWORKS, { reach, exchange }]);
  const pod = await network.attach('n/a/0', NODE);
  await network.nft({ args: ['-f', '-'], input: CUT });
  const places = [
    ['192.0.2.3', 443],
    ['192.0.2.3', 80],
    ['192.0.2.1', 443],
    ['192.0.2.2', 8_080],
    ['198.51.100.1', 80],
    ['10.244.3.99', 80],
  ];
  const datagrams = [
    ['192.0.2.1', 123],
    ['192.0.2.1', 124],
    ['192.0.2.3', 123],
  ];
  const said = await insidePod(pod.path, pod.agent, JSON.stringify([places, ...datagrams]));
  assert.deepEqual(said, [
    'EHOSTUNREACH',
    'heard hello, and the end',
    'heard hello, and the end',
    'heard hello, and the end',
    'ECONNRESET',
    'EHOSTUNREACH',
    'hello',
    5_005,
    'EHOSTUNREACH',
  ]);
  const by = `by ${pod.address} says hello`;
  assert.deepEqual(asked.toSorted(), [
    `192.0.2.1:123 ${by}`,
    `192.0.2.1:124 ${by}`,
    '192.0.2.1:443',
    '192.0.2.2:8080',
    '192.0.2.3:80',
    '198.51.100.1:80',
  ]);
});

/** Sends one datagram from each source, in turn, after it has given itself these addresses. */
const SEND_AS = `
const { createSocket } = require('node:dgram');
const { execFileSync } = require('node:child_process');
const [to, ...sources] = process.argv.slice(1);
const send = (source) => new Promise((resolve) => {
  try { execFileSync('ip', ['addr', 'add', source + '/32', 'dev', 'lo'], { stdio: 'ignore' }); } catch {}
  const socket = createSocket('udp4');
  socket.bind(0, source, () => socket.send('x', 53, to, () => socket.close(resolve)));
});
(async () => { for (const source of sources) await send(source); console.log('{}'); })();
`;

/** Sends more datagrams than a pod has a share of. */
const FLOOD = `
const socket = require('node:dgram').createSocket('udp4');
const send = (left) => left === 0 ? socket.close(() => console.log('{}')) : socket.send('x', 53, process.argv[1], () => send(left - 1));
send(20_000);
`;

test('a pod is heard by its own address alone, and its flood of datagrams is bounded', async (t) => {
  const heard = new Set<string>();
  const dns: OutsideTarget = { datagram: async (_bytes, source) => void heard.add(source) };
  const network = await open(t, folder(t), 0, ['outside', dns]);
  const [one, two] = [await network.attach('n/a/0', NODE), await network.attach('n/b/0', NODE)];
  const relay = DNS_RELAY.address;
  await runInside(one, SEND_AS, relay, two.address, '192.0.2.7', one.address);
  await waitFor('the datagram of the pod', () => heard.has(one.address));
  assert.deepEqual([...heard], [one.address]);
  await runInside(one, FLOOD, relay);
  const bounded = await network.nft({ args: ['list', 'set', 'ip', 'holdfast-shares', 'datagrams'], input: '' });
  assert.match(bounded, new RegExp(one.address.replaceAll('.', String.raw`\.`)));
  await runInside(two, SEND_AS, relay, two.address);
  await waitFor('the datagram of the other pod', () => heard.has(two.address));
});

/** Repeats datagrams until it is ended. */
const REPEAT = `
const socket = require('node:dgram').createSocket('udp4');
socket.on('message', (bytes, { port, address }) => socket.send('heard ' + bytes, port, address, () => {
  if (String(bytes) === 'end') socket.close(() => console.log('{}'));
}));
socket.bind(5353);
`;

test('datagrams from outside reach a port of a pod, and its answers come back', async (t) => {
  const network = await open(t, folder(t));
  const pod = await network.attach('n/a/0', NODE);
  const nobody = { message: () => assert.fail(), closed: () => undefined };
  await assert.rejects(network.dialDatagrams({ host: '10.244.3.99', port: 9 }, nobody), /EHOSTUNREACH|ENETUNREACH/);
  const heard: string[] = [];
  let isClosed = false;
  const line = await network.dialDatagrams(
    { host: pod.address, port: 5_353 },
    { message: (bytes) => void heard.push(String(bytes)), closed: () => (isClosed = true) },
  );
  const ended = runInside(pod, REPEAT);
  await waitFor('an answer of the pod', () => {
    line.send(Buffer.from('hello'));
    return heard.includes('heard hello');
  });
  line.send(Buffer.from('end'));
  await ended;
  await waitFor('the last answer', () => heard.at(-1) === 'heard end');
  line.close();
  await waitFor('the end of the line', () => isClosed);
});
