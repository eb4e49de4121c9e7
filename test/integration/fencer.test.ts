import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { EVENTS, NODES, type Node, PODS, type Pod } from '@holdfast/api';
import { type ApiClient, createApiClient } from '@holdfast/client';
import { createHttpsTransport } from '@holdfast/client/https';
import { createSystemClock } from '@holdfast/platform';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { NODE_FLAGS } from '../support/node-flags.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/fencer/src/main.ts');
const FENCER = 'system:holdfast:fencer';
const clock = createSystemClock();

/** Records its requests and confirms them. */
const AGENT = `
import { appendFileSync, readFileSync } from 'node:fs';
const request = JSON.parse(readFileSync(0, 'utf8'));
appendFileSync(process.argv[2], request.action + ' ' + request.node.name + '\\n');
console.log(JSON.stringify({ state: request.action === 'unfence' ? 'unfenced' : 'fenced', requestId: request.requestId }));
`;

const tokenOf = (holdfast: HoldfastProcess, user: string): string => {
  const line = readFileSync(path.join(holdfast.dataDir, 'tokens.csv'), 'utf8')
    .split('\n')
    .find((each) => each.split(',')[1] === user);
  assert.ok(line !== undefined, `a token of ${user}`);
  return line.split(',')[0] ?? '';
};

interface Rig {
  readonly admin: ApiClient;
  /** The distinct requests to the agent: one whose result could not be stored is repeated. */
  readonly asked: () => readonly string[];
}

/** A cluster of pretended nodes, and beside it the fencer as an operator starts it. */
async function start(t: TestContext): Promise<Rig> {
  const holdfast = await HoldfastProcess.start(['--hollow-nodes', '2']);
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-fencer-'));
  const file = (name: string): string => path.join(folder, name);
  writeFileSync(file('agent.mjs'), AGENT);
  writeFileSync(file('asked'), '');
  writeFileSync(file('token'), tokenOf(holdfast, FENCER));
  const command = [process.execPath, file('agent.mjs'), file('asked')];
  writeFileSync(file('fencer.yaml'), JSON.stringify({ agents: [{ name: 'notes', exec: { command } }] }));
  const caFile = path.join(holdfast.dataDir, 'pki', 'ca.crt');
  const settings = {
    config: file('fencer.yaml'),
    'api-servers': holdfast.ready.url,
    'ca-file': caFile,
    'token-file': file('token'),
  };
  const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const fencer = spawn(process.execPath, [...NODE_FLAGS, MAIN, ...flags], { stdio: 'ignore' });
  const transport = createHttpsTransport({ servers: [holdfast.ready.url], caPem: readFileSync(caFile, 'utf8'), clock });
  t.after(async () => {
    await end(fencer);
    await transport.close();
    await holdfast[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const admin = createApiClient({ transport, token: tokenOf(holdfast, 'admin'), userAgent: 'test' });
  return { admin, asked: () => [...new Set(readFileSync(file('asked'), 'utf8').trim().split('\n'))] };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.kill('SIGTERM');
  await promise;
}

const fenced = ({ status }: Node): string => {
  const { status: value, reason } = status.conditions?.find(({ type }) => type === 'Fenced') ?? {};
  return `${value} ${reason}`;
};

const annotate = (admin: ApiClient, name: string, annotations: Record<string, string>): Promise<Node> =>
  admin.patch(NODES, { name }, { type: 'merge', body: { metadata: { annotations } } });

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'stays', namespace: 'default' },
  spec: { nodeName: 'hollow-1', containers: [{ name: 'main', image: 'busybox', resources: {} }] },
  status: {},
};

test('[FENCE-01] [FENCE-05] [FENCE-12] the fencer as its own process: it fences by a command, releases, and lifts, all through the API', async (t) => {
  const { admin, asked } = await start(t);
  const nodeIs = (wanted: string): Promise<unknown> =>
    waitFor(`hollow-1 is ${wanted}`, async () => fenced(await admin.get(NODES, { name: 'hollow-1' })) === wanted);
  await waitFor('the node is there', async () => (await admin.find(NODES, { name: 'hollow-1' })) !== undefined);
  await admin.create(PODS, pod);
  await annotate(admin, 'hollow-1', { 'fencing/requested': 'true' });
  await nodeIs('True NodeFenced');
  assert.deepEqual(asked(), ['fence hollow-1']);
  assert.ok(await admin.find(PODS, { namespace: 'default', name: 'stays' }), 'nothing is released unasked');
  await annotate(admin, 'hollow-1', { 'fencing/release': 'true' });
  await waitFor(
    'the pod is gone',
    async () => (await admin.find(PODS, { namespace: 'default', name: 'stays' })) === undefined,
  );
  await annotate(admin, 'hollow-1', { 'fencing/unfence': 'true' });
  await waitFor('it is lifted', async () => fenced(await admin.get(NODES, { name: 'hollow-1' })).startsWith('False'));
  assert.deepEqual(asked(), ['fence hollow-1', 'unfence hollow-1']);
  const { taints = [] } = (await admin.get(NODES, { name: 'hollow-1' })).spec;
  assert.deepEqual(
    taints.filter(({ key }) => /fenc|out-of-service/.test(key)),
    [],
  );
  await waitFor('it is told', async () => {
    const { items } = await admin.list(EVENTS, { namespace: 'default' });
    const reasons = items
      .filter(({ involvedObject }) => involvedObject.name === 'hollow-1')
      .map(({ reason }) => reason);
    return ['FencingStarted', 'FencingSucceeded', 'Unfenced'].every((reason) => reasons.includes(reason));
  });
});
