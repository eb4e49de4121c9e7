import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createExecAgent } from '../agents/exec-agent.ts';
import type { FenceRequest, FenceVerb } from '../agents/port.ts';

const NEVER = new AbortController().signal;

/** The few calls of a container daemon that the agent needs, with one running container. */
async function startDaemon(t: TestContext): Promise<{ readonly socket: string; readonly calls: string[] }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-daemon-'));
  const socket = path.join(folder, 'daemon.sock');
  const calls: string[] = [];
  let isRunning = true;
  const server = createServer(({ method, url = '' }, response) => {
    calls.push(`${method} ${url}`);
    const [, name, verb = ''] = /^\/containers\/([^/]+)\/(\w+)/.exec(url) ?? [];
    const wanted = verb === 'start';
    if (name !== 'holdfast-node-2-1') response.writeHead(404).end('{"message":"No such container"}');
    else if (verb === 'json') response.end(JSON.stringify({ State: { Running: isRunning } }));
    else {
      response.writeHead(isRunning === wanted ? 304 : 204).end();
      isRunning = wanted;
    }
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { socket, calls };
}

test('[FENCE-05] the agent for compose stops the container of the node, reports it, and starts it again', async (t) => {
  const { socket, calls } = await startDaemon(t);
  const command = [process.execPath, path.join(import.meta.dirname, 'docker-poweroff-main.ts')];
  const clock = createSystemClock();
  const agent = createExecAgent({ name: 'node-poweroff', command, environment: {}, timeoutMs: 60_000, clock });
  const ask = (action: FenceVerb, name = 'node-2'): Promise<{ readonly state: string }> => {
    const node = { name, uid: 'u', providerID: '', addresses: [], labels: {} };
    const request: FenceRequest = { action, requestId: 'r', scope: 'node', node, servers: [], parameters: { socket } };
    return agent.ask(request, NEVER);
  };
  assert.equal((await ask('status')).state, 'unfenced');
  assert.equal((await ask('fence')).state, 'fenced');
  assert.equal((await ask('fence')).state, 'fenced');
  assert.equal((await ask('unfence')).state, 'unfenced');
  assert.deepEqual(calls.slice(1, 3), [
    'POST /containers/holdfast-node-2-1/stop?t=0',
    'GET /containers/holdfast-node-2-1/json',
  ]);
  await assert.rejects(ask('fence', 'node-9'), /was answered with 404: .*No such container/);
});
