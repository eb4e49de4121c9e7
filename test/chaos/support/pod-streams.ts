import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PODS, type Pod } from '@holdfast/api';
import { createSystemClock } from '@holdfast/platform';
import { KUBECTL_DEADLINE_MS, KubectlStream, kubectl, spawnKubectl } from '../../support/kubectl.ts';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from './compose-cluster.ts';

const NAMESPACE = 'default';
const NAME = 'streams';
const POD_PORT = 18_099;
const READY_DEADLINE_MS = 60_000;
/** A probe does not read the response and resets its connection: that must not end the server. */
const SERVER = `require('net').createServer((s) => s.on('error', () => {}).end('served')).listen(${POD_PORT})`;

/** One container that echoes, one that serves. */
const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  status: {},
  metadata: { name: NAME, namespace: NAMESPACE },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'echo',
        image: 'busybox',
        resources: {},
        stdin: true,
        command: ['sh', '-c', 'while read line; do echo "heard $line"; done; exec sleep 3600'],
      },
      {
        name: 'web',
        image: 'node',
        resources: {},
        command: ['node', '-e', SERVER],
        readinessProbe: { tcpSocket: { port: POD_PORT }, periodSeconds: 1 },
      },
    ],
  },
};

/** Tests the streams from a client through each API server to a kubelet and into a container. */
export async function assertStreamsReachPods({ admin, kubeconfig, servers }: ComposeCluster): Promise<void> {
  await admin.create(PODS, pod);
  await waitFor('the pod to be ready', () => isPodReady(admin), READY_DEADLINE_MS);
  for (const server of servers) {
    const through = (...args: readonly string[]): string[] => ['--server', server, '--namespace', NAMESPACE, ...args];
    assert.match(await kubectl(kubeconfig, through('exec', NAME, '-c', 'echo', '--', 'echo', 'executed')), /executed/);
    await assertAttached(kubeconfig, through('attach', '-i', NAME, '-c', 'echo'));
    await assertCopied(kubeconfig, through);
    await assertForwarded(kubeconfig, through('port-forward', `pod/${NAME}`, `:${POD_PORT}`));
  }
  await admin.delete(PODS, { namespace: NAMESPACE, name: NAME });
  await waitFor('the pod to be gone', () => isPodGone(admin), READY_DEADLINE_MS);
}

async function isPodGone(admin: ComposeCluster['admin']): Promise<boolean> {
  const { items } = await admin.list(PODS, { namespace: NAMESPACE });
  return items.every(({ metadata }) => metadata.name !== NAME);
}

async function isPodReady(admin: ComposeCluster['admin']): Promise<boolean> {
  const { status } = await admin.get(PODS, { namespace: NAMESPACE, name: NAME });
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}

/** Repeats until it is received: earlier input may be lost before the connection is established. */
async function assertAttached(kubeconfig: string, args: readonly string[]): Promise<void> {
  const child = spawnKubectl(kubeconfig, args, KUBECTL_DEADLINE_MS);
  child.stdin?.on('error', () => {});
  await using attached = new KubectlStream(child);
  await waitFor('what was said to be repeated', async () => {
    child.stdin?.write('ping\n');
    await createSystemClock().sleep(SAY_AGAIN_MS);
    return attached.printed.includes('heard ping');
  });
}

const SAY_AGAIN_MS = 500;

async function assertCopied(kubeconfig: string, through: (...args: readonly string[]) => string[]): Promise<void> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'holdfast-copy-'));
  try {
    const [there, back] = [path.join(scratch, 'there'), path.join(scratch, 'back')];
    await writeFile(there, 'copied\n');
    await kubectl(kubeconfig, through('cp', there, `${NAME}:/tmp/copied`, '-c', 'echo'));
    await kubectl(kubeconfig, through('cp', `${NAME}:/tmp/copied`, back, '-c', 'echo'));
    assert.equal(await readFile(back, 'utf8'), 'copied\n');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function assertForwarded(kubeconfig: string, args: readonly string[]): Promise<void> {
  await using forward = new KubectlStream(spawnKubectl(kubeconfig, args, KUBECTL_DEADLINE_MS));
  const portIn = (text: string): string | undefined => /127\.0\.0\.1:(\d+)/.exec(text)?.[1];
  await waitFor('kubectl to listen', async () => portIn(forward.printed) !== undefined);
  assert.equal(await answerOf(Number(portIn(forward.printed))), 'served');
}

function answerOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1' });
    socket.setTimeout(KUBECTL_DEADLINE_MS, () => socket.destroy(new Error('no answer through the forwarded port')));
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.once('error', reject);
    socket.once('end', () => resolve(text));
  });
}
