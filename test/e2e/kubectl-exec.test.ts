import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { Attach, Exec, type V1Status } from '@kubernetes/client-node';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import {
  createKubectl,
  KUBECTL_DEADLINE_MS,
  type KubectlResult,
  STREAM_PROTOCOLS,
  spawnKubectl,
  tryKubectl,
} from '../support/kubectl.ts';
import { openFolder } from '../support/open-folder.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
/** Pods do not see the data directory. */
const signs = openFolder('exec');
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);

const pod = (name: string, container: object, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 0,
    ...spec,
    containers: [{ name: 'main', image: 'busybox', command: ['sleep', '1000'], ...container }],
  },
});

before(async () => {
  cluster = await HoldfastProcess.start(['--memory', '--hollow-nodes', '1']);
  // Only what names it comes there: the others are real processes.
  await waitFor('the hollow node', async () => /hollow-1/.test(await run('get', 'nodes')));
  await run('cordon', 'hollow-1');
  await send(
    ['create'],
    pod('shell', { env: [{ name: 'COLOR', value: 'blue moon' }], workingDir: '/usr' }),
    pod('cat', { command: ['cat'], stdin: true, stdinOnce: true }, { restartPolicy: 'Never' }),
    pod('hollow', { command: ['stay'] }, { nodeName: 'hollow-1' }),
    pod('waiting', {}, { nodeSelector: { no: 'node' } }),
  );
  await run('wait', '--for=condition=Ready', 'pod/shell', 'pod/cat', 'pod/hollow', '--timeout=60s');
});
after(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(signs, { recursive: true, force: true });
});

const shell = (script: string): readonly string[] => ['shell', '--', 'sh', '-c', script];

/** kubectl on a terminal of 33 rows and 77 columns. */
function onTerminal(args: readonly string[], environment: readonly string[]): Promise<KubectlResult> {
  const words = ['env', ...environment, 'kubectl', '--kubeconfig', cluster.ready.kubeconfig, ...args];
  const line = `stty rows 33 cols 77; ${words.join(' ')}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: KUBECTL_DEADLINE_MS,
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout: Buffer.concat(chunks).toString(), stderr: '' }));
  });
}

for (const { name, environment } of STREAM_PROTOCOLS) {
  const exec = (args: readonly string[], input: string | Uint8Array = ''): Promise<KubectlResult> =>
    tryKubectl(cluster.ready.kubeconfig, ['exec', ...args], input, environment);

  test(`${name}: exec runs inside the container: outputs, environment, directory, exit code`, async () => {
    const result = await exec(shell('echo "$COLOR in $PWD"; echo oops >&2; exit 7'));
    assert.equal(result.stdout, 'blue moon in /usr\n');
    assert.equal(result.stderr, 'oops\ncommand terminated with exit code 7\n');
    assert.equal(result.code, 7);
  });

  test(`${name}: exec -i carries a large input, and its end`, async () => {
    const input = Buffer.alloc(8 * 1024 * 1024, 'holdfast\n');
    const result = await exec(['-i', 'shell', '--', 'sha256sum'], input);
    assert.equal(result.stdout.split(' ')[0], createHash('sha256').update(input).digest('hex'));
    assert.equal(result.code, 0);
  });

  test(`${name}: exec carries a large output to its last byte`, async () => {
    const result = await exec(
      shell('i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero | tr "\\0" x; i=$((i+1)); done; echo end'),
    );
    assert.equal(result.stdout.length, 4_000_004);
    assert.ok(result.stdout.endsWith('xend\n'));
  });

  test(`${name}: exec -it gives a terminal with the size of the client`, async () => {
    const script = 'while [ "$(stty size)" != "33 77" ]; do sleep 0.05; done; tty; exit 4';
    const result = await onTerminal(['exec', '-it', ...shell(`'${script}'`)], environment);
    assert.match(result.stdout, /\/dev\/pts\/\d+\r\n/);
    assert.match(result.stdout, /command terminated with exit code 4/);
    assert.equal(result.code, 4);
  });

  test(`${name}: exec of a missing command`, async () => {
    const result = await exec(['shell', '--', 'no-such-program']);
    assert.notEqual(result.code, 0);
    assert.match(result.stderr, /"no-such-program": executable file not found in \$PATH/);
  });

  test(`${name}: exec reports errors before it starts`, async () => {
    const cases: readonly [readonly string[], RegExp][] = [
      [['nowhere', '--', 'true'], /pods "nowhere" not found/],
      [['shell', '-c', 'other', '--', 'true'], /container other is not valid for pod shell|container not found/],
      [['waiting', '--', 'true'], /pod waiting does not have a host assigned/],
    ];
    for (const [args, expected] of cases) {
      const result = await exec(args);
      assert.match(result.stderr, expected);
      assert.notEqual(result.code, 0);
    }
  });

  test(`${name}: when kubectl is killed, its command is killed too`, async () => {
    const file = `${signs}/alive-${name}`;
    const child = spawnKubectl(
      cluster.ready.kubeconfig,
      ['exec', ...shell(`echo $$ > ${file}; exec sleep 1000`)],
      KUBECTL_DEADLINE_MS,
      environment,
    );
    const pid = await waitFor('it runs', () => readFileSync(file, 'utf8').trim());
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
    await waitFor('its process is gone', () => !existsSync(`/proc/${pid}`));
  });

  test(`${name}: exec on a hollow node is answered by its script`, async () => {
    assert.equal((await exec(['hollow', '--', 'echo', 'hello'])).stdout, 'hello\n');
    assert.equal((await exec(['-i', 'hollow', '--', 'cat'], 'round trip')).stdout, 'round trip');
    assert.equal((await exec(['hollow', '--', 'say', 'a', 'b', '9'])).code, 9);
  });
}

test('attach -i writes to the container; with stdinOnce its end is the end of the input', async () => {
  const result = await tryKubectl(cluster.ready.kubeconfig, ['attach', '-i', 'cat'], 'first and last\n');
  assert.match(result.stdout, /first and last/);
  await waitFor('cat has ended', async () => / Completed /.test(await run('get', 'pod', 'cat', '--no-headers')));
  assert.equal(await run('logs', 'cat'), 'first and last\n');
});

test('run -i --rm waits for the end of the pod and exits with the exit code of its container', async () => {
  const args = ['run', 'once', '--image=busybox', '--restart=Never', '-i', '--rm', '--command', '--'];
  const result = await tryKubectl(
    cluster.ready.kubeconfig,
    [...args, 'sh', '-c', 'read line; echo "got $line"; exit 3'],
    'a line\n',
  );
  assert.match(result.stdout, /got a line/);
  assert.equal(result.code, 3);
  assert.match((await attempt('get', 'pod', 'once')).stderr, /not found/);
});

test('a program in a pod finds the API by its variables, and is authenticated by its token', async () => {
  const from = '/var/run/secrets/kubernetes.io/serviceaccount';
  const ask = `
    const { env } = process, { readFileSync: read } = require('node:fs');
    require('node:https').get({
      host: env.KUBERNETES_SERVICE_HOST, port: env.KUBERNETES_SERVICE_PORT, path: '/api/v1/nodes', ca: read(env.FROM + '/ca.crt'),
      headers: { authorization: 'Bearer ' + read(env.FROM + '/token', 'utf8') },
    }, (answer) => answer.pipe(process.stdout));`;
  await send(
    ['create'],
    pod(
      'inside',
      { command: [process.execPath, '-e', ask], env: [{ name: 'FROM', value: from }] },
      { restartPolicy: 'Never' },
    ),
  );
  await waitFor('it has ended', async () => / Completed /.test(await run('get', 'pod', 'inside', '--no-headers')));
  assert.match(await run('logs', 'inside'), /User \\?"system:serviceaccount:default:default\\?" cannot list resource/);
});

test('a client that does not read an endless command costs the server little', async () => {
  const rss = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${cluster.pid}/status`, 'utf8'))?.[1]) / 1024;
  const before = rss();
  for (const { environment } of STREAM_PROTOCOLS) {
    const child = spawnKubectl(
      cluster.ready.kubeconfig,
      ['exec', 'shell', '--', 'yes'],
      KUBECTL_DEADLINE_MS,
      environment,
    );
    assert.ok(child.stdout !== null);
    await once(child.stdout, 'readable');
    child.stdout.pause();
    const settled = await settledRss(rss);
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    child.stdout.resume();
    await closed;
    // `yes` writes more than this in a second; what a whole server gains by other work is well below.
    assert.ok(settled - before < 250, `${settled} MB, ${before} MB before`);
  }
});

/** When it does not grow any more. */
async function settledRss(rss: () => number): Promise<number> {
  let last = 0;
  await waitFor('memory settles', async () => {
    const now = rss();
    const isSettled = Math.abs(now - last) < 2;
    last = now;
    return isSettled;
  });
  return last;
}

test('the official JavaScript client: exec with input and exit status, and attach', async () => {
  const config = loadKubeConfig(cluster.ready.kubeconfig);
  const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const chunks: Buffer[] = [];
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = Promise.withResolvers<V1Status>();
  const command = ['sh', '-c', 'read line; echo "got $line"; exit 5'];
  stdin.write('from the client\n');
  await new Exec(config).exec('default', 'shell', 'main', command, stdout, stderr, stdin, false, ended.resolve);
  const status = await ended.promise;
  assert.equal(Buffer.concat(chunks).toString(), 'got from the client\n');
  assert.equal(status.status, 'Failure');
  assert.equal(status.reason, 'NonZeroExitCode');
  assert.deepEqual(status.details?.causes, [{ reason: 'ExitCode', message: '5' }]);

  await send(
    ['create'],
    pod('talker', { command: ['sh', '-c', 'while read line; do echo "heard $line"; done'], stdin: true }),
  );
  await run('wait', '--for=condition=Ready', 'pod/talker', '--timeout=60s');
  const [heard, typed] = [new PassThrough(), new PassThrough()];
  let text = '';
  heard.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const socket = await new Attach(config).attach('default', 'talker', 'main', heard, null, typed, false);
  typed.write('something\n');
  await waitFor('the answer', () => text === 'heard something\n');
  socket.close();
});

/** A shell on a terminal that gets its size and its keys as soon as the connection is there. */
async function typeAtOnce(client: Exec, keys: string, expected: RegExp): Promise<void> {
  const [screen, keyboard] = [Object.assign(new PassThrough(), { rows: 30, columns: 100 }), new PassThrough()];
  let text = '';
  screen.on('data', (chunk: Buffer) => (text += chunk.toString()));
  for (const key of keys) keyboard.write(key);
  const ended = Promise.withResolvers<V1Status>();
  await client.exec('default', 'shell', 'main', ['sh'], screen, null, keyboard, true, ended.resolve);
  await ended.promise;
  assert.match(text, expected);
}

test('no key that is typed on a terminal at once is lost', async () => {
  const client = new Exec(loadKubeConfig(cluster.ready.kubeconfig));
  const inTurn = async (first: number): Promise<void> => {
    for (let n = first; n < first + 15; n++)
      await typeAtOnce(client, `echo run$((${n} + 100)); exit\r`, new RegExp(`(?:^|\\s)run${n + 100}\\s`));
  };
  await Promise.all([0, 15, 30, 45].map(inTurn));
});
