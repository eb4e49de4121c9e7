import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { explore, readWorkload } from '@holdfast/cluster/explore';
import { type Clock, createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { runCommand } from '../run.ts';
import { flagsOf } from './explore.ts';

const STEP = { apply: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'default' } } };

function makeFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-explore-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'workload.yaml');
  writeFileSync(file, text);
  return file;
}

interface Explored {
  readonly code: number;
  /** Both outputs. */
  readonly text: string;
  /** Standard output. */
  readonly printed: readonly string[];
}

async function exploring(...argv: readonly string[]): Promise<Explored> {
  const [told, printed]: [string[], string[]] = [[], []];
  const tell = (line: string): void => void told.push(line);
  const print = (line: string): void => {
    printed.push(line);
    tell(line);
  };
  const code = await runCommand('explore', argv, { print, tell, env: {}, clock: createSystemClock() });
  return { code, text: told.join('\n'), printed };
}

test('wrong arguments of explore and wrong workloads are told with the next step', async (t) => {
  const rows = [
    [['--workload', 'x'], 2, /no operator is given\n.*-- /],
    [['--', 'true'], 2, /no workload is given\n.*--workload/],
    [['--workload', '/no/such/file', '--', 'true'], 2, /no\/such\/file cannot be read/],
    [['--workload', makeFile(t, 'steps: []'), '--', 'true'], 2, /the workload has 0 steps/],
    [['--workload', makeFile(t, '{'), '--', 'true'], 2, /cannot be read: [^\n]+[^:\n]\n +Give a YAML file/],
    [
      ['--workload', makeFile(t, JSON.stringify({ steps: [STEP] })), '--plan', '{', '--', 'true'],
      2,
      /the plan is not JSON/,
    ],
    [
      ['--workload', makeFile(t, JSON.stringify({ steps: [STEP] })), '--plan', '{}', '--', 'true'],
      2,
      /none of explore/,
    ],
    [
      ['--workload', makeFile(t, JSON.stringify({ steps: [STEP] })), '--controllers=*,-deploy', '--', 'true'],
      2,
      /no controller named -deploy\n.*deployment/,
    ],
  ] as const;
  for (const [argv, code, pattern] of rows) {
    const result = await exploring(...argv);
    assert.equal(result.code, code, argv.join(' '));
    assert.match(result.text, pattern);
  }
  assert.match((await exploring('--help')).text, /--quiet-ms/);
});

test('an operator that never starts, or that the machine does not have, is told in one sentence', async (t) => {
  const file = makeFile(t, JSON.stringify({ steps: [STEP] }));
  const flags = ['--workload', file, '--hollow-nodes', '0', '--quiet-ms', '50'];
  const silent = await exploring(
    ...flags,
    '--start-seconds',
    '1',
    '--',
    process.execPath,
    '-e',
    'setInterval(() => {}, 1000)',
  );
  assert.equal(silent.code, 1);
  assert.match(silent.text, /the operator sent no request within 1 s\n.*KUBECONFIG/);
  const ending = await exploring(
    ...flags,
    '--',
    process.execPath,
    '-e',
    'console.log("no such flag"); process.exit(3)',
  );
  assert.match(ending.text, /the operator ended with code 3\n.*printed:\n\s*no such flag/);
  const absent = await exploring(...flags, '--', '/no/such/operator');
  assert.equal(absent.code, 127);
  assert.match(absent.text, /cannot be started/);
  const unknown = makeFile(t, JSON.stringify({ steps: [STEP], setup: [{ ...STEP.apply, kind: 'Nothing' }] }));
  assert.match((await exploring('--workload', unknown, '--', 'true')).text, /no kind Nothing of v1\n.*setup/);
});

/** Writes all the time, or lists once and stays. */
const RESTLESS = `
const config = require('node:fs').readFileSync(process.env.KUBECONFIG, 'utf8');
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const headers = { authorization: 'Bearer ' + /token: (\\S+)/.exec(config)[1], 'content-type': 'application/merge-patch+json' };
const url = /server: (\\S+)/.exec(config)[1] + '/api/v1/namespaces/default';
let count = 0;
const write = () => {
  const body = JSON.stringify({ metadata: { annotations: { count: String(++count) } } });
  return fetch(url, { method: 'PATCH', headers, body }).catch(() => {});
};
write();
if (process.argv[1] === 'restless') setInterval(write, 10);
`;

test('an operator that never rests is told with what it repeats, after the first run', async (t) => {
  const file = makeFile(t, JSON.stringify({ steps: [STEP] }));
  const flags = ['--workload', file, '--hollow-nodes=0', '--quiet-ms=100'];
  const { code, text } = await exploring(...flags, '--', process.execPath, '-e', RESTLESS, 'restless');
  assert.equal(code, 1);
  assert.match(text, /^run 1 of 2 without a fault, the operator starts\n/);
  assert.match(text, /never rests, also without a fault \(.*\): in 6.* there was no pause of 0\.[26] s/);
  assert.match(text, /most often: patch namespaces default\/default \(\d+ times\)\n {2}.*--quiet-ms/);
});

test('the time of an exploration counts for its first runs, too, and is told with what went on', async () => {
  const clock = createSystemClock();
  const WITHIN_MS = 1_234_567;
  let timeIsUp = (): void => assert.fail('the time has no limit');
  const timer: Clock['timer'] = (delayMs, fire) => {
    if (delayMs !== WITHIN_MS) return clock.timer(delayMs, fire);
    timeIsUp = fire;
    return { cancel: () => {} };
  };
  const exploring = explore({
    workload: readWorkload({ steps: [STEP] }),
    command: [process.execPath, '-e', RESTLESS, 'calm'],
    env: {},
    clock: { ...clock, timer },
    hollowNodes: 0,
    quietMs: 600_000,
    startWithinMs: 60_000,
    seed: 1,
    plans: 1,
    withinMs: WITHIN_MS,
    onProgress: () => timeIsUp(),
  });
  const message = 'no plan was tried in 1234.6 s: run 1 of 2 without a fault, the operator starts';
  await assert.rejects(exploring, { code: 'TimeIsUp', message });
});

const MAIN = path.join(import.meta.dirname, '..', '..', 'main.ts');

/** An operator with a child of its own. It writes both numbers, lists something once, and stays. */
const OPERATOR = `
const { spawn } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
const child = spawn('sleep', ['1000']);
writeFileSync(process.argv[1], process.pid + ' ' + child.pid);
const config = readFileSync(process.env.KUBECONFIG, 'utf8');
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const headers = { authorization: 'Bearer ' + /token: (\\S+)/.exec(config)[1] };
setInterval(() => fetch(/server: (\\S+)/.exec(config)[1] + '/api/v1/configmaps', { headers }).catch(() => {}), 20);
`;

const lives = (pid: string): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends explore and its operator with all its processes`, async (t) => {
    const file = makeFile(t, JSON.stringify({ steps: [STEP] }));
    const pids = path.join(path.dirname(file), 'pids');
    const args = [
      MAIN,
      'explore',
      '--workload',
      file,
      '--hollow-nodes',
      '0',
      '--',
      process.execPath,
      '-e',
      OPERATOR,
      pids,
    ];
    const child = spawn(process.execPath, [...process.execArgv, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const closed = once(child, 'close');
    const started = (): boolean => existsSync(pids) && readFileSync(pids, 'utf8').includes(' ');
    await eventually(started, 'the operator runs');
    const numbers = readFileSync(pids, 'utf8').split(' ');
    assert.deepEqual(numbers.map(lives), [true, true]);
    child.kill(signal);
    assert.deepEqual(await closed, [130, null]);
    assert.match(said, /was interrupted after 0 plans; the operator was ended\n {2}\S/);
    await eventually(() => !numbers.some(lives), 'its processes are gone');
  });
}

/** Creates `default/a` when it sees `default/one`, and never tries again. */
const GIVES_UP = `
const config = require('node:fs').readFileSync(process.env.KUBECONFIG, 'utf8');
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const headers = { authorization: 'Bearer ' + /token: (\\S+)/.exec(config)[1], 'content-type': 'application/json' };
const url = /server: (\\S+)/.exec(config)[1] + '/api/v1/namespaces/default/configmaps';
const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });
(async () => {
  const { body: stream } = await fetch(url + '?watch=true', { headers });
  let seen = '';
  for await (const chunk of stream) {
    const before = seen.includes('"name":"one"');
    seen += Buffer.from(chunk).toString();
    if (!before && seen.includes('"name":"one"')) await fetch(url, { method: 'POST', headers, body });
  }
})();
`;

const THROTTLED = {
  kind: 'throttled',
  write: { verb: 'create', resource: 'configmaps', namespace: 'default', name: 'a', nth: 1 },
};

test('explore --json --html prints only documents on standard output, and writes the history with the fault', async (t) => {
  const file = makeFile(t, JSON.stringify({ steps: [STEP] }));
  const pages = path.join(path.dirname(file), 'pages');
  const flags = ['--workload', file, '--hollow-nodes=0', '--quiet-ms=300', '--plan', JSON.stringify(THROTTLED)];
  const operator = ['--', process.execPath, '-e', GIVES_UP];
  const { code, text, printed } = await exploring(...flags, '--json', '--html', pages, ...operator);
  assert.equal(code, 1, text);
  const [finding, end] = printed.map((line) => JSON.parse(line));
  assert.deepEqual([finding.event, end.event, end.found, printed.length], ['finding', 'end', 1, 2]);
  assert.doesNotMatch(finding.again, /--html/);
  assert.match(text, /the history of finding 1 is in .*finding-1\.html/);
  const page = readFileSync(path.join(pages, 'finding-1.html'), 'utf8');
  assert.match(page, /<line class="fault-line"[^>]*><title>write 1 &quot;create configmaps default\/a&quot; gets 429/);
  assert.match(page, /configmaps default\/one/);
});

test('the line that repeats a finding has no earlier plan and no folder of pages, in either form', () => {
  const flags = ['-w', 'file', '--plan={"a":1}', '--seed', '2', '--plan', '{}', '--html', 'pages', '--html=more'];
  const given = [...flags, '--', 'run', '--plan', 'x'];
  assert.deepEqual(flagsOf(given, ['run', '--plan', 'x']), ['-w', 'file', '--seed', '2']);
});
