import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, send, attempt } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

const container = (script: string): object => ({ name: 'work', image: 'busybox:1', command: ['sh', '-c', script] });

const job = (name: string, script: string, spec: object = {}): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [container(script)] } }, ...spec },
});

const cronJob = (name: string, script: string, spec: object = {}): object => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name },
  spec: {
    schedule: '0 0 29 2 *',
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [container(script)] } } } },
    ...spec,
  },
});

const wait = (name: string, what: string): Promise<string> => run('wait', name, `--for=${what}`, '--timeout=60s');
const field = (name: string, jsonPath: string): Promise<string> => run('get', name, '-o', `jsonpath=${jsonPath}`);
const podsOf = async (name: string, jsonPath: string): Promise<readonly string[]> => {
  const text = await run(
    'get',
    'pods',
    '-l',
    `job-name=${name}`,
    '-o',
    `jsonpath={range .items[*]}${jsonPath}{"\\n"}{end}`,
  );
  return text
    .split('\n')
    .filter((line) => line !== '')
    .sort();
};

test('a Job runs its command to completion and reports it in every view', async () => {
  assert.equal(
    await run('create', 'job', 'hello', '--image=busybox:1', '--', 'sh', '-c', 'echo done'),
    'job.batch/hello created\n',
  );
  assert.equal(await wait('job/hello', 'condition=complete'), 'job.batch/hello condition met\n');
  assert.equal(await run('logs', 'job/hello'), 'done\n');
  assert.match(
    await run('get', 'job', 'hello'),
    /STATUS +COMPLETIONS +DURATION +AGE\nhello +Complete +1\/1 +\d+s +\d+s\n/,
  );
  const described = await run('describe', 'job', 'hello');
  assert.match(described, /Pods Statuses: +0 Active \(0 Ready\) \/ 1 Succeeded \/ 0 Failed\n/);
  await waitFor('the events', async () =>
    /Normal +Completed .* Job completed/.test(await run('describe', 'job', 'hello')),
  );
  assert.match(await run('describe', 'job', 'hello'), /Normal +SuccessfulCreate .* Created pod: hello-\w{5}\n/);
  assert.deepEqual(await podsOf('hello', '{.metadata.finalizers}{.status.phase}'), ['Succeeded']);
  assert.equal(await run('delete', 'job', 'hello'), 'job.batch "hello" deleted\n');
  await waitFor('its pods are gone with it', async () => (await podsOf('hello', '{.metadata.name}')).length === 0);
});

test('every index of an indexed Job gets its number, and two pods share the work', async () => {
  const spec = { completionMode: 'Indexed', completions: 4, parallelism: 2 };
  await send(['apply'], job('shards', 'echo shard $JOB_COMPLETION_INDEX on $HOSTNAME', spec));
  await wait('job/shards', 'condition=complete');
  assert.equal(await field('job/shards', '{.status.completedIndexes} {.status.succeeded}'), '0-3 4');
  const names = await podsOf('shards', '{.metadata.name}');
  const logs = await Promise.all(names.map((name) => run('logs', name)));
  assert.deepEqual(
    logs.sort(),
    [0, 1, 2, 3].map((index) => `shard ${index} on shards-${index}\n`),
  );
  await run('delete', 'job', 'shards');
});

test('a failing Job is retried with back-off and then fails', async () => {
  await send(['apply'], job('broken', 'exit 3', { backoffLimit: 1 }));
  assert.equal(await wait('job/broken', 'condition=failed'), 'job.batch/broken condition met\n');
  assert.equal(
    await field('job/broken', '{.status.failed} {.status.conditions[?(@.type=="Failed")].reason}'),
    '2 BackoffLimitExceeded',
  );
  assert.match(await run('get', 'job', 'broken'), /broken +Failed +0\/1 /);
  await waitFor('the event', async () =>
    /Warning +BackoffLimitExceeded .* Job has reached the specified backoff limit/.test(
      await run('describe', 'job', 'broken'),
    ),
  );
  await run('delete', 'job', 'broken');
});

test('a failure policy ends a Job at its first fatal exit code', async () => {
  const rules = [{ action: 'FailJob', onExitCodes: { containerName: 'work', operator: 'In', values: [42] } }];
  await send(['apply'], job('fatal', 'exit 42', { podFailurePolicy: { rules } }));
  await wait('job/fatal', 'condition=failed');
  assert.match(
    await field('job/fatal', '{.status.conditions[?(@.type=="Failed")].message}'),
    /^Container work for pod default\/fatal-\w{5} failed with exit code 42 matching FailJob rule at index 0$/,
  );
  assert.equal(await field('job/fatal', '{.status.failed}'), '1');
  await run('delete', 'job', 'fatal');
});

test('[EXP-13] [SIDE-08] a Job completes although its sidecar would run for ever', async () => {
  const sidecar = {
    ...container('trap "exit 0" TERM; while true; do sleep 0.1; done'),
    name: 'proxy',
    restartPolicy: 'Always',
  };
  const template = { spec: { restartPolicy: 'Never', containers: [container('exit 0')], initContainers: [sidecar] } };
  await send(['apply'], job('with-sidecar', '', { template }));
  await wait('job/with-sidecar', 'condition=complete');
  assert.equal(await field('job/with-sidecar', '{.status.succeeded}'), '1');
  await run('delete', 'job', 'with-sidecar');
});

test('a suspended Job has no pods, and continues when resumed', async () => {
  await send(['apply'], job('paused', 'exec sleep 3600', { suspend: true }));
  await wait('job/paused', 'condition=Suspended');
  assert.match(await run('get', 'job', 'paused'), /paused +Suspended +0\/1 /);
  assert.deepEqual(await podsOf('paused', '{.metadata.name}'), []);
  const suspend = (value: boolean): Promise<string> =>
    run('patch', 'job', 'paused', '-p', `{"spec":{"suspend":${value}}}`);
  await suspend(false);
  await wait('job/paused', 'jsonpath={.status.ready}=1');
  await suspend(true);
  await waitFor('its pods have ended', async () => (await podsOf('paused', '{.metadata.name}')).length === 0);
  await wait('job/paused', 'jsonpath={.status.terminating}=0');
  await run('delete', 'job', 'paused');
});

test('a finished Job is deleted after its TTL, with its pods', async () => {
  await send(['apply'], job('brief', 'exit 0', { ttlSecondsAfterFinished: 1 }));
  await run('wait', 'job/brief', '--for=delete', '--timeout=60s');
  await waitFor('its pods', async () => (await podsOf('brief', '{.metadata.name}')).length === 0);
});

test('a CronJob: created by hand from its template, suspended, described, deleted with its Jobs', async () => {
  assert.equal(
    await run('create', 'cronjob', 'nightly', '--image=busybox:1', '--schedule=0 3 * * *', '--', 'echo', 'night'),
    'cronjob.batch/nightly created\n',
  );
  assert.match(
    await run('get', 'cronjob', 'nightly'),
    /SCHEDULE +TIMEZONE +SUSPEND +ACTIVE +LAST SCHEDULE +AGE\nnightly +0 3 \* \* \* +<none> +False +0 +<none> +\d+s\n/,
  );
  assert.equal(await run('create', 'job', 'tonight', '--from=cronjob/nightly'), 'job.batch/tonight created\n');
  await wait('job/tonight', 'condition=complete');
  assert.equal(await run('logs', 'job/tonight'), 'night\n');
  await wait('cronjob/nightly', 'jsonpath={.status.lastSuccessfulTime}');
  await run('patch', 'cronjob', 'nightly', '-p', '{"spec":{"suspend":true}}');
  assert.match(await run('get', 'cronjob', 'nightly'), /nightly +0 3 \* \* \* +<none> +True /);
  const refused = await attempt('create', 'cronjob', 'zoned', '--image=busybox:1', '--schedule=TZ=UTC 0 3 * * *');
  assert.match(refused.stderr, /cannot use TZ or CRON_TZ in schedule, use timeZone field instead/);
  await run('delete', 'cronjob', 'nightly');
  await run('wait', 'job/tonight', '--for=delete', '--timeout=60s');
});

test('a CronJob starts Jobs by its schedule and deletes the old ones', async () => {
  const spec = { schedule: '@every 2s', successfulJobsHistoryLimit: 1, concurrencyPolicy: 'Forbid' };
  await send(['apply'], cronJob('ticking', 'echo tick', spec));
  const ended = async (): Promise<readonly string[]> =>
    (await run('get', 'jobs', '-o', 'jsonpath={range .items[*]}{.metadata.name} {.status.succeeded}{"\\n"}{end}'))
      .split('\n')
      .filter((line) => /^ticking-\d+ 1$/.test(line));
  const [first] = await waitFor('a Job has ended', async () => {
    const found = await ended();
    return found.length > 0 && found;
  });
  assert.ok(first);
  await wait('cronjob/ticking', 'jsonpath={.status.lastScheduleTime}');
  await waitFor('its end is noted', async () =>
    /Normal +SawCompletedJob .* Saw completed job: ticking-\d+, condition: Complete/.test(
      await run('describe', 'cronjob', 'ticking'),
    ),
  );
  assert.match(await run('describe', 'cronjob', 'ticking'), /Normal +SuccessfulCreate .* Created job ticking-\d+\n/);
  await run('delete', 'cronjob', 'ticking');
});
