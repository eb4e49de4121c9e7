import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { CONFIG_MAPS, PODS } from '@holdfast/api';
import { holdfast } from '../../support/holdfast-command.ts';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from './compose-cluster.ts';

const NAMESPACE = 'default';
const MAPS = `/ui/cluster/api/v1/namespaces/${NAMESPACE}/configmaps`;

/** A person signs in to the console with a link, uses a terminal, and loses an API server meanwhile: by what a page sends. */
export async function assertConsoleServes(cluster: ComposeCluster): Promise<void> {
  const page = await openPage(cluster);
  const { status, text } = await page.call('GET', '/ui/');
  assert.deepEqual([status, text.includes('/app-')], [200, true], 'the image has the files of the page');
  await useTerminal(page, cluster);
  await loseServer(page, cluster);
}

interface Page {
  call(method: string, path: string, body?: string): Promise<{ readonly status: number; readonly text: string }>;
  open(path: string): Promise<IncomingMessage>;
  upgrade(path: string, headers: Record<string, string>): Promise<Duplex>;
}

/** Its requests carry what a browser's do: the origin, and after the sign-in the two secrets of the session. */
async function openPage({ console, kubeconfig, stateFolder }: ComposeCluster): Promise<Page> {
  const linked = await holdfast(['ui', '--kubeconfig', kubeconfig]);
  const [, code] = new RegExp(`^${console}/ui/#code=(\\S+)`).exec(linked.stdout) ?? [];
  assert.ok(code !== undefined, `${linked.stdout}${linked.stderr}`);
  const ca = await readFile(path.join(stateFolder, 'console', 'ca.crt'), 'utf8');
  const own: Record<string, string> = { origin: console, 'sec-fetch-site': 'same-origin' };
  const send = (method: string, place: string, headers: Record<string, string> = {}) =>
    request(`${console}${place}`, { method, ca, agent: false, headers: { ...own, ...headers } });
  const answerOf = async (sent: ReturnType<typeof send>, body = ''): Promise<IncomingMessage> => {
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return answer;
  };
  const signIn = send('POST', '/ui/session', { 'x-holdfast-console': 'sign-in', 'content-type': 'application/json' });
  const signedIn = await answerOf(signIn, JSON.stringify({ code }));
  own['cookie'] = (signedIn.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  own['x-holdfast-console'] = (JSON.parse(await textOf(signedIn)) as { readonly guard: string }).guard;
  return {
    call: async (method, place, body) => {
      const answer = await answerOf(send(method, place), body);
      return { status: answer.statusCode ?? 0, text: await textOf(answer) };
    },
    open: (place) => answerOf(send('GET', place)),
    upgrade: async (place, headers) => {
      const sent = send('GET', place, { ...headers, connection: 'Upgrade', upgrade: 'websocket' });
      sent.end();
      const [, socket] = (await once(sent, 'upgrade')) as [IncomingMessage, Duplex];
      return socket;
    },
  };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return text;
}

async function useTerminal(page: Page, { admin }: ComposeCluster): Promise<void> {
  const [pod] = (await admin.list(PODS, { namespace: NAMESPACE })).items;
  const { ticket } = JSON.parse((await page.call('POST', '/ui/ticket')).text) as { readonly ticket: string };
  const query = new URLSearchParams({ stdout: 'true', stderr: 'true' });
  for (const word of ['sh', '-c', 'echo $((40 + 2)) said']) query.append('command', word);
  const socket = await page.upgrade(
    `/ui/stream/api/v1/namespaces/${NAMESPACE}/pods/${pod?.metadata.name}/exec?${query.toString()}`,
    {
      'sec-websocket-key': Buffer.from('holdfast-console').toString('base64'),
      'sec-websocket-version': '13',
      'sec-websocket-protocol': `v5.channel.k8s.io, holdfast.ticket.${ticket}`,
    },
  );
  let heard = '';
  socket.on('data', (bytes: Buffer) => (heard += bytes.toString('latin1')));
  socket.on('error', () => {});
  // A server does not mask what it sends.
  await waitFor('the output and the end of the command', () => /42 said[^]*"status":"Success"/.test(heard));
  socket.destroy();
}

/** A watch passes what happens; when an API server is killed, the console reads at the other one. */
async function loseServer(page: Page, cluster: ComposeCluster): Promise<void> {
  const [first, second] = cluster.users;
  const name = 'seen-by-the-console';
  const metadata = { name, namespace: NAMESPACE };
  const watch = await page.open(`${MAPS}?watch=1`);
  assert.equal(watch.statusCode, 200);
  let heard = '';
  watch.on('error', () => {}).on('data', (bytes: Buffer) => (heard += bytes.toString()));
  await second?.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await waitFor('the watch to tell what was created', () => heard.includes(name));
  await cluster.crash('apiserver-1');
  await waitFor('the console to read at the other API server', async () => {
    const { status, text } = await page.call('GET', `${MAPS}/${name}`);
    return status === 200 && text.includes(name);
  });
  watch.destroy();
  await second?.delete(CONFIG_MAPS, metadata);
  await waitFor('the first API server to be back', () =>
    first?.list(CONFIG_MAPS, { namespace: NAMESPACE }).then(
      () => true,
      () => false,
    ),
  );
}
