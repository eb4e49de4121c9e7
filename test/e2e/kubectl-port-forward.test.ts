import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { PortForward } from '@kubernetes/client-node';
import { freePort } from '../support/free-port.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import {
  createKubectl,
  KUBECTL_DEADLINE_MS,
  KubectlStream,
  STREAM_PROTOCOLS,
  spawnKubectl,
} from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
let podPort = 0;
let closedPort = 0;
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

/** Answers a line immediately, and everything else after the other side has finished sending. */
const SERVER = `require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
  const all = [];
  socket.on('data', (chunk) => (chunk.includes(10) ? socket.write(chunk) : all.push(chunk)));
  socket.on('error', () => {});
  socket.on('end', () => socket.end(Buffer.concat(all)));
}).listen(Number(process.env.PORT), '127.0.0.1')`;

before(async () => {
  [podPort, closedPort] = [await freePort(), await freePort()];
  cluster = await HoldfastProcess.start(['--memory']);
  await send(['create'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'echo', namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: 'node',
          command: [process.execPath, '-e', SERVER],
          env: [{ name: 'PORT', value: String(podPort) }],
          // It listens inside the pod alone.
          readinessProbe: {
            exec: { command: ['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${podPort}`] },
            periodSeconds: 1,
          },
        },
      ],
    },
  });
  await run('wait', '--for=condition=Ready', 'pod/echo', '--timeout=60s');
});
after(() => cluster[Symbol.asyncDispose]());

function dial(port: number): Socket {
  return connect({ host: '127.0.0.1', port, allowHalfOpen: true });
}

async function ask(port: number, text: string): Promise<string> {
  const socket = dial(port);
  socket.end(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

for (const { name, environment } of STREAM_PROTOCOLS) {
  const forward = async (...ports: readonly string[]): Promise<{ stream: KubectlStream; port: number }> => {
    const args = ['port-forward', '--address', '127.0.0.1', 'pod/echo', ...ports];
    const stream = new KubectlStream(
      spawnKubectl(cluster.ready.kubeconfig, args, 2 * KUBECTL_DEADLINE_MS, environment),
    );
    const port = await waitFor(
      'it forwards',
      () => Number(/Forwarding from 127\.0\.0\.1:(\d+)/.exec(stream.printed)?.[1] ?? 0) || undefined,
    );
    return { stream, port };
  };

  test(`${name}: port-forward carries parallel connections; each half ends independently`, async () => {
    const { stream, port } = await forward(`:${podPort}`);
    await using _forwarding = stream;
    const texts = ['one', 'two', 'x'.repeat(2_000_000)];
    assert.deepEqual(await Promise.all(texts.map((text) => ask(port, text))), texts);
    assert.equal(await ask(port, 'and another one'), 'and another one');
  });

  test(`${name}: a closed port is reported`, async () => {
    const { stream, port } = await forward(`:${closedPort}`);
    await using _forwarding = stream;
    dial(port)
      .on('error', () => undefined)
      .resume();
    await waitFor('kubectl says so', () => /error forwarding port \d+ to pod echo/.test(stream.printed));
    assert.match(stream.printed, /ECONNREFUSED|connection refused/);
  });
}

test('the official JavaScript client forwards a port', async () => {
  const forward = new PortForward(loadKubeConfig(cluster.ready.kubeconfig));
  const [toPod, fromPod] = [new PassThrough(), new PassThrough()];
  let answer = '';
  fromPod.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  const socket = await forward.portForward('default', 'echo', [podPort], fromPod, null, toPod);
  assert.ok(typeof socket !== 'function');
  toPod.write('hello through the client\n');
  await waitFor('the answer', () => answer === 'hello through the client\n');
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  socket.close();
  await closed;
});
