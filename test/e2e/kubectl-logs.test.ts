import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { formatTime, parseTime } from '@holdfast/platform';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send, follow } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

const shell = (name: string, script: string): object => ({
  name,
  image: 'busybox',
  command: ['/bin/sh', '-c', script],
});
const create = (name: string, spec: object): Promise<string> =>
  send(['create'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 0, ...spec },
  });
const status = (name: string): Promise<string> => run('get', 'pod', name, '--no-headers');

test('logs shows the output of a container: all of it, the last lines, the first bytes', async () => {
  await create('writer', { restartPolicy: 'Never', containers: [shell('c', 'echo one; echo two >&2; echo three')] });
  await waitFor('it ended', async () => / Completed /.test(await status('writer')));
  assert.equal(await run('logs', 'writer'), 'one\ntwo\nthree\n');
  assert.equal(await run('logs', 'writer', '--tail=2'), 'two\nthree\n');
  assert.equal(await run('logs', 'writer', '--limit-bytes=5'), 'one\nt');
});

test('logs --timestamps shows the time of each line, and --since omits older lines', async () => {
  await create('clock', { restartPolicy: 'Never', containers: [shell('c', 'echo one; sleep 3; echo two')] });
  await waitFor('it ended', async () => / Completed /.test(await status('clock')));
  const times = (await run('logs', 'clock', '--timestamps')).split('\n').map((line) => line.split(' ')[0] ?? '');
  const [one = '', two = ''] = times;
  assert.match(one, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
  const between = (parseTime(two) ?? 0) - (parseTime(one) ?? 0);
  assert.ok(between > 2_000, `${between} ms between lines that were written 3 s apart`);
  const middle = formatTime((parseTime(one) ?? 0) + 1_500);
  assert.equal(await run('logs', 'clock', `--since-time=${middle}`), 'two\n');
  assert.equal(await run('logs', 'clock', '--since=1h'), 'one\ntwo\n');
  assert.equal(await run('logs', 'clock', '--since-time=2100-01-01T00:00:00Z'), '');
});

test('logs -f shows new lines and ends with the container', async () => {
  await create('slow', { restartPolicy: 'Never', containers: [shell('c', 'echo first; sleep 2; echo last')] });
  await waitFor('it runs', async () => / Running /.test(await status('slow')));
  await using log = follow('logs', '-f', 'slow');
  await waitFor('the first line alone', () => log.printed === 'first\n');
  assert.equal(await run('logs', '-f', 'slow'), 'first\nlast\n');
  await waitFor('the last line', () => log.printed === 'first\nlast\n');
});

test('[EXP-10] init containers have their own logs, and a pod with several requires a container name', async () => {
  await create('pair', {
    initContainers: [shell('prepare', 'echo waiting for myservice')],
    containers: [shell('a', 'echo from a; sleep 600'), shell('b', 'echo from b; sleep 600')],
  });
  await waitFor('both run', async () => / 2\/2 +Running /.test(await status('pair')));
  assert.equal(await run('logs', 'pair', '-c', 'prepare'), 'waiting for myservice\n');
  assert.equal(await run('logs', 'pair', '-c', 'b'), 'from b\n');
  assert.match(await run('logs', 'pair'), /from a\n/);
  const raw = await attempt('get', '--raw', '/api/v1/namespaces/default/pods/pair/log');
  assert.match(
    raw.stderr,
    /a container name must be specified for pod pair, choose one of: \[a b\] or one of the init containers: \[prepare\]/,
  );
  assert.match((await attempt('logs', 'pair', '-c', 'x')).stderr, /container x is not valid for pod pair/);
  assert.match(
    (await attempt('logs', 'pair', '-c', 'a', '--previous')).stderr,
    /previous terminated container "a" in pod "pair" not found/,
  );
});

test('logs --previous shows the log of the previous container', async () => {
  await create('restarter', {
    containers: [shell('c', 'echo life of $$$$; exit 1')],
  });
  await waitFor('it was restarted', async () => / CrashLoopBackOff +1 /.test(await status('restarter')));
  const [latest, before] = [await run('logs', 'restarter'), await run('logs', 'restarter', '-p')];
  assert.match(latest, /^life of \d+\n$/);
  assert.match(before, /^life of \d+\n$/);
  assert.notEqual(latest, before);
});

test('a log request that cannot be served reports the reason', async () => {
  assert.match((await attempt('logs', 'nobody')).stderr, /pods "nobody" not found/);
  await create('stuck', { containers: [{ name: 'c', image: 'nginx:1.27' }] });
  await waitFor('the reason', async () => / CreateContainerError /.test(await status('stuck')));
  assert.match(
    (await attempt('logs', 'stuck')).stderr,
    /container "c" in pod "stuck" is waiting to start: CreateContainerError/,
  );
  assert.match(
    (await attempt('get', '--raw', '/api/v1/namespaces/default/pods/writer/log?tailLines=-1')).stderr,
    /tailLines: Invalid value: -1/,
  );
});
