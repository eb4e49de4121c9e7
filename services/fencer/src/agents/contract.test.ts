import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createExecAgent } from './exec-agent.ts';
import { createHttpAgent } from './http-agent.ts';
import { MemoryAgent } from './memory-agent.ts';
import type { FenceAgent, FenceRequest, FenceVerb } from './port.ts';

const clock = createSystemClock();

/** A dead process keeps its pid until its parent reaps it. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
const TIMEOUT_MS = 60_000;
/** Each request starts a process, and test machines are slow. No test waits this long. */
const NEVER = new AbortController().signal;

const ask = (action: FenceVerb, requestId = 'r1'): FenceRequest => ({
  action,
  requestId,
  scope: 'node',
  node: {
    name: 'a',
    uid: 'u',
    providerID: 'cloud://a',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    labels: {},
  },
  servers: [],
  parameters: { outlet: 4 },
});

/** A sample agent of an operator: it records its actions in a file, by request id. */
const PROGRAM = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const request = JSON.parse(readFileSync(0, 'utf8'));
const file = process.argv[2];
const states = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
const before = states[request.requestId] ?? 'unfenced';
const after = request.action === 'status' ? before : request.action === 'fence' ? 'fenced' : 'unfenced';
states[request.requestId] = after;
states.effects = (states.effects ?? 0) + (after === before ? 0 : 1);
states.last = request;
writeFileSync(file, JSON.stringify(states));
console.log(JSON.stringify({ state: after, message: 'outlet ' + request.parameters.outlet, requestId: request.requestId }));
`;

interface Rig {
  readonly agent: FenceAgent;
  readonly effects: () => Promise<number> | number;
}

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'holdfast-fence-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function execAgent(t: TestContext, program: string, timeoutMs = TIMEOUT_MS): { agent: FenceAgent; state: string } {
  const file = path.join(folder(t), 'agent.mjs');
  const state = `${file}.json`;
  writeFileSync(file, program);
  chmodSync(file, 0o700);
  const command = [process.execPath, file, state];
  return { agent: createExecAgent({ name: 'exec', command, environment: { OUTLETS: '8' }, timeoutMs, clock }), state };
}

type Reply = (
  request: FenceRequest,
  headers: Readonly<Record<string, unknown>>,
) => { status: number; body: string } | 'silence';

async function httpAgent(t: TestContext, reply: Reply, timeoutMs = TIMEOUT_MS): Promise<FenceAgent> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const answer = reply(JSON.parse(Buffer.concat(chunks).toString('utf8')) as FenceRequest, request.headers);
      if (answer !== 'silence') response.writeHead(answer.status).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const tokenFile = path.join(folder(t), 'token');
  writeFileSync(tokenFile, 'secret\n');
  return createHttpAgent({
    name: 'http',
    url: `http://127.0.0.1:${port}/`,
    tokenFile,
    caFile: undefined,
    timeoutMs,
    clock,
  });
}

const rigs: Readonly<Record<string, (t: TestContext) => Promise<Rig> | Rig>> = {
  memory: () => {
    const agent = new MemoryAgent('memory');
    return { agent, effects: () => agent.effects.length };
  },
  exec: (t) => {
    const { agent, state } = execAgent(t, PROGRAM);
    const read = async (): Promise<number> => {
      const { readFileSync } = await import('node:fs');
      return (JSON.parse(readFileSync(state, 'utf8')) as { effects: number }).effects;
    };
    return { agent, effects: read };
  },
  http: async (t) => {
    const memory = new MemoryAgent('behind http');
    const answers = new Map<string, string>();
    const agent = await httpAgent(t, (request) => {
      void memory.ask(request);
      const fenced =
        memory.effects.filter(({ requestId }) => requestId === request.requestId).at(-1)?.action === 'fence';
      answers.set(request.requestId, fenced ? 'fenced' : 'unfenced');
      return { status: 200, body: JSON.stringify({ state: answers.get(request.requestId) }) };
    });
    return { agent, effects: () => memory.effects.length };
  },
};

for (const [kind, start] of Object.entries(rigs)) {
  test(`[FENCE-05] the ${kind} agent fences, reports its state and lifts; a repeated request changes nothing`, async (t) => {
    const { agent, effects } = await start(t);
    const stateAfter = async (action: FenceVerb, id?: string): Promise<string> =>
      (await agent.ask(ask(action, id), NEVER)).state;
    assert.equal(await stateAfter('status'), 'unfenced');
    assert.equal(await stateAfter('fence'), 'fenced');
    assert.equal(await stateAfter('fence'), 'fenced');
    assert.equal(await effects(), 1);
    assert.equal(await stateAfter('status'), 'fenced');
    assert.equal(await stateAfter('unfence'), 'unfenced');
    assert.equal(await stateAfter('unfence'), 'unfenced');
    assert.equal(await effects(), 2);
    assert.equal(await stateAfter('fence', 'r2'), 'fenced');
    assert.equal(await effects(), 3);
  });
}

test('[FENCE-05] a command gets the whole request on standard input, its environment and no shell', async (t) => {
  const program = `import { readFileSync } from 'node:fs';
const request = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify({ state: 'pending', message: JSON.stringify([request, process.env.OUTLETS, process.argv.length]) }));`;
  const { agent } = execAgent(t, program);
  const { state, message } = await agent.ask(ask('fence'), NEVER);
  assert.equal(state, 'pending');
  const sent = { apiVersion: 'fencing.holdfast.io/v1', kind: 'FenceRequest', ...ask('fence') };
  assert.deepEqual(JSON.parse(message), [sent, '8', 3]);
});

test('[FENCE-05] an HTTP agent gets the token from its file', async (t) => {
  const agent = await httpAgent(t, (_request, headers) => ({
    status: 200,
    body: JSON.stringify({ state: 'fenced', message: headers['authorization'] }),
  }));
  assert.equal((await agent.ask(ask('fence'), NEVER)).message, 'Bearer secret');
});

for (const [what, program, complaint] of [
  ['fails', 'console.error("outlet 4 is on fire"); process.exit(3)', /ended with code 3: outlet 4 is on fire/],
  ['says nothing', '', /did not answer with JSON/],
  ['says something else', 'console.log("[1]")', /did not answer with a JSON object/],
  [
    'gives no clear word',
    'console.log(JSON.stringify({state: "probably"}))',
    /no "state" of fenced, unfenced, pending/,
  ],
  [
    'answers something else',
    'console.log(JSON.stringify({state: "fenced", requestId: "r0"}))',
    /answered another request/,
  ],
  ['says too much', 'process.stdout.write("x".repeat(100_000))', /answered with more than 65536 bytes/],
] as const) {
  test(`[FENCE-06] a command that ${what} confirms nothing`, async (t) => {
    await assert.rejects(execAgent(t, program).agent.ask(ask('fence'), NEVER), complaint);
  });
}

test('[FENCE-06] a missing program, an unreachable address and an answer of 500 confirm nothing', async (t) => {
  const missing = createExecAgent({
    name: 'none',
    command: ['/nowhere/agent'],
    environment: {},
    timeoutMs: TIMEOUT_MS,
    clock,
  });
  await assert.rejects(missing.ask(ask('fence'), NEVER), /cannot be run/);
  const broken = await httpAgent(t, () => ({ status: 500, body: 'no power' }));
  await assert.rejects(broken.ask(ask('fence'), NEVER), /status 500: no power/);
});

test('[FENCE-06] no agent delays the fencer beyond its timeout, and a hanging command is killed', async (t) => {
  const silent = await httpAgent(t, () => 'silence', 100);
  await assert.rejects(silent.ask(ask('fence'), NEVER), /gave no answer within 0.1 s/);
  const { agent } = execAgent(t, 'setInterval(() => {}, 1000)', 100);
  await assert.rejects(agent.ask(ask('fence'), NEVER), /gave no answer within 0.1 s/);
  await assert.rejects(agent.ask(ask('fence'), AbortSignal.abort(new Error('stopping'))), /stopping/);
});

test('[FENCE-06] a command that leaves a process on its output confirms nothing, and the process is killed', async (t) => {
  const pipes = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length;
  const before = pipes();
  const program = `import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const left = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 120_000)'], { stdio: ['ignore', 'inherit', 'inherit'] });
writeFileSync(process.argv[2], JSON.stringify([process.pid, left.pid]));
console.log(JSON.stringify({ state: 'fenced' }));
process.exit(0);`;
  const { agent, state } = execAgent(t, program);
  const stopping = new AbortController();
  const answer = agent.ask(ask('fence'), stopping.signal);
  answer.catch(() => {});
  const pids = (): number[] => JSON.parse(readFileSync(state, 'utf8'));
  await eventually(() => !isAlive(pids()[0] ?? 0), 'the command has ended');
  assert.ok(isAlive(pids()[1] ?? 0));
  stopping.abort(new Error('its time is over'));
  await assert.rejects(answer, /its time is over/);
  await eventually(() => pipes() <= before, 'its pipes are closed');
  await eventually(() => !isAlive(pids()[1] ?? 0), 'what it left behind has ended');
});

test('[FENCE-06] the message of an agent is quoted, not copied, on the Node and in Events', async (t) => {
  const body = JSON.stringify({ state: 'fenced', message: 'x'.repeat(50_000) });
  const { message } = await (await httpAgent(t, () => ({ status: 200, body }))).ask(ask('fence'), NEVER);
  assert.equal(message, 'x'.repeat(500));
});
