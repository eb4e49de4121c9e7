import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Pod } from '@holdfast/api';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { openFolder } from '../support/open-folder.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  // On the network of the machine names resolve to endpoints. Cluster addresses have tests of their own.
  cluster = await HoldfastProcess.start(['--memory', '--pod-network', 'host']);
});
after(() => cluster[Symbol.asyncDispose]());

const shell = (name: string, script: string, change: object = {}): object => ({
  name,
  image: 'busybox:1.28',
  command: ['sh', '-c', script],
  ...change,
});
const apply = (name: string, spec: object, metadata: object = {}): Promise<string> =>
  send(['apply'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { terminationGracePeriodSeconds: 1, ...spec },
  });
const podOf = async (name: string): Promise<Pod> => JSON.parse(await run('get', 'pod', name, '-o', 'json')) as Pod;
const row = (name: string): Promise<string> => run('get', 'pod', name, '--no-headers');
const ended = (name: string): Promise<true> =>
  waitFor(`${name} ended`, async () => / Completed /.test(await row(name)) && (true as const));

test('[EXP-02] a Job creates a pod from its template, which logs, runs and succeeds, and the Job completes', async (t) => {
  // Instead of an hour it takes until this test lets it go.
  const signs = openFolder('examples');
  t.after(() => rmSync(signs, { recursive: true, force: true }));
  const go = path.join(signs, 'go');
  const script = `echo "Hello, Kubernetes!" && until [ -e ${go} ]; do sleep 0.1; done`;
  const template = { spec: { restartPolicy: 'OnFailure', containers: [shell('hello', script)] } };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'hello' }, spec: { template } };
  assert.equal(await send(['apply'], job), 'job.batch/hello created\n');
  const pods = ['get', 'pods', '-l', 'job-name=hello', '--no-headers'];
  await waitFor('it runs', async () => / 1\/1 +Running /.test(await run(...pods)));
  await waitFor('it says so', async () => (await run('logs', 'job/hello')) === 'Hello, Kubernetes!\n');
  writeFileSync(go, '');
  await waitFor('it succeeded', async () => / 0\/1 +Completed /.test(await run(...pods)));
  await waitFor('the Job is complete', async () => /^hello +Complete +1\/1 /m.test(await run('get', 'jobs')));
});

test('[EXP-03] [LIFE-29] a readiness gate keeps a ready pod out of service until it is set through the status', async () => {
  const type = 'www.example.com/feature-1';
  await apply('gated', { readinessGates: [{ conditionType: type }], containers: [shell('c', 'sleep 600')] });
  await waitFor('it runs', async () => (await podOf('gated')).status.containerStatuses?.[0]?.ready === true);
  const ready = async (): Promise<string | undefined> =>
    (await podOf('gated')).status.conditions?.find((each) => each.type === 'Ready')?.status;
  assert.equal(await ready(), 'False');
  assert.match(await run('get', 'pod', 'gated', '-o', 'wide'), /1\/1 +Running .* 0\/1\n/);
  const patch = JSON.stringify({ status: { conditions: [{ type, status: 'True' }] } });
  await run('patch', 'pod', 'gated', '-p', patch);
  assert.equal(await ready(), 'False', 'a plain patch does not change the status');
  await run('patch', 'pod', 'gated', '--subresource=status', '-p', patch);
  await waitFor('it is ready', async () => (await ready()) === 'True');
});

test('[EXP-08] [EXP-09] [LIFE-20] a pod that waits for a service shows its state, and describe shows its events', async () => {
  const waiting = (service: string): string =>
    `until getent hosts ${service}.$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace).svc.cluster.local; do echo waiting for ${service}; sleep 2; done`;
  const made = await apply('myapp-pod', {
    containers: [shell('myapp-container', 'echo The app is running! && sleep 3600')],
    initContainers: [shell('init-myservice', waiting('myservice')), shell('init-mydb', waiting('mydb'))],
  });
  assert.equal(made, 'pod/myapp-pod created\n');
  await waitFor('it initialises', async () => /^myapp-pod +0\/1 +Init:0\/2 +0 /.test(await row('myapp-pod')));
  await waitFor('its log', async () =>
    (await run('logs', 'myapp-pod', '-c', 'init-myservice')).startsWith('waiting for myservice\n'),
  );
  const text = await waitFor('its story', async () => {
    const described = await run('describe', 'pod', 'myapp-pod');
    return /Started container init-myservice/.test(described) && described;
  });
  assert.match(text, /^Status: +Pending$/m);
  assert.match(text, /init-myservice:[\s\S]*?State: +Running/);
  assert.match(text, /init-mydb:[\s\S]*?State: +Waiting\n +Reason: +PodInitializing/);
  assert.match(text, /myapp-container:[\s\S]*?State: +Waiting\n +Reason: +PodInitializing\n +Ready: +False/);
  const events = JSON.parse(
    await run('get', 'events', '--field-selector', 'involvedObject.name=myapp-pod', '-o', 'json'),
  ) as { items: { reason: string; source: { component: string }; involvedObject: { fieldPath?: string } }[] };
  const told = events.items.map(({ reason, source, involvedObject }) =>
    [reason, source.component, involvedObject.fieldPath ?? ''].join(' ').trim(),
  );
  const part = 'spec.initContainers{init-myservice}';
  for (const each of ['Pulled', 'Created', 'Started']) assert.ok(told.includes(`${each} kubelet ${part}`), each);
  assert.ok(told.some((each) => each.startsWith('Scheduled')));
});

const mayAnswerNames =
  process.getuid?.() === 0 || Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) <= 53;
const unlessNames = mayAnswerNames ? false : 'this user may not listen on port 53: run the tests as root';

test('[EXP-11] once the services exist the pod continues and runs, without a restart', {
  skip: unlessNames,
}, async () => {
  const service = (name: string, targetPort: number): object => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ protocol: 'TCP', port: 80, targetPort }] },
  });
  assert.equal(await send(['apply'], service('mydb', 9377)), 'service/mydb created\n');
  assert.equal(await send(['apply'], service('myservice', 9376)), 'service/myservice created\n');
  await waitFor('it runs', async () => /^myapp-pod +1\/1 +Running +0 /.test(await row('myapp-pod')));
  // Without endpoints: the name resolves to an address that no host may have.
  const address = '192\\.0\\.2\\.0';
  assert.match(
    await run('logs', 'myapp-pod', '-c', 'init-mydb'),
    new RegExp(`^${address} +mydb\\.default\\.svc\\.cluster\\.local$`, 'm'),
  );
  // Short names are those of the pod's namespace.
  assert.match(
    await run('exec', 'myapp-pod', '--', 'getent', 'hosts', 'mydb'),
    new RegExp(`^${address} +mydb\\.default`),
  );
  assert.match(
    await run('exec', 'myapp-pod', '--', 'cat', '/etc/resolv.conf'),
    /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/,
  );
  await run('delete', 'pod', 'myapp-pod', '--wait=false');
});

test('[POD-04] [POD-26] [POD-28] [INIT-08] containers of a pod share volumes and its network, and only a container that mounts a secret sees it', async () => {
  await run('create', 'secret', 'generic', 'key', '--from-literal=key=s3cret');
  const mounts = { volumeMounts: [{ name: 'work', mountPath: '/work-of-examples' }] };
  const web = `while [ ! -e /work-of-examples/fetched ]; do sleep 0.1; done; test ! -e /only-for-init && cat /work-of-examples/*`;
  await apply('shares', {
    restartPolicy: 'Never',
    initContainers: [
      shell('setup', 'cp /only-for-init/key /work-of-examples/a', {
        volumeMounts: [...mounts.volumeMounts, { name: 'secret', mountPath: '/only-for-init' }],
      }),
    ],
    containers: [
      shell('web', web, mounts),
      shell('puller', 'sleep 0.5; echo -fetched > /work-of-examples/fetched', mounts),
    ],
    volumes: [
      { name: 'work', emptyDir: {} },
      { name: 'secret', secret: { secretName: 'key' } },
    ],
  });
  await ended('shares');
  assert.equal(await run('logs', 'shares', '-c', 'web'), 's3cret-fetched\n');
  const { containerStatuses = [] } = (await podOf('shares')).status;
  assert.deepEqual(
    containerStatuses.map(({ restartCount }) => restartCount),
    [0, 0],
  );
});

test('[POD-08] [EXP-05] a pod has its host name, resolves itself and its aliases, and gets service variables', async () => {
  const ports = [{ port: 8080 }];
  await send(['create'], {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'management' },
    spec: { ports, selector: { app: 'management' } },
  });
  const address = await run('get', 'service', 'management', '-o', 'jsonpath={.spec.clusterIP}');
  const script =
    'hostname; grep -cw -e "$POD_NAME" -e alias.example /etc/hosts; echo "$MANAGEMENT_SERVICE_HOST:$MANAGEMENT_SERVICE_PORT"; cat /etc/resolv.conf';
  const env = [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
  await apply('named', {
    restartPolicy: 'Never',
    hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias.example'] }],
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['192.0.2.53'], searches: ['example.org'] },
    containers: [shell('c', script, { env })],
  });
  await ended('named');
  assert.equal(await run('logs', 'named'), `named\n2\n${address}:8080\nsearch example.org\nnameserver 192.0.2.53\n`);
});

test('[LIFE-18] the termination message is shown: the file, or the end of the log of a failed container', async () => {
  const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
  await apply('last-words', {
    restartPolicy: 'Never',
    containers: [
      shell('file', 'echo -n "out of luck" > /dev/termination-log; exit 3'),
      shell('own', 'echo -n here > /words-of-examples; exit 4', { terminationMessagePath: '/words-of-examples' }),
      shell('log', 'echo one; echo two; exit 5', fallback),
      shell('fine', 'echo one', fallback),
    ],
  });
  await waitFor('it failed', async () => (await podOf('last-words')).status.phase === 'Failed');
  const { containerStatuses = [] } = (await podOf('last-words')).status;
  assert.deepEqual(Object.fromEntries(containerStatuses.map(({ name, state }) => [name, state.terminated?.message])), {
    file: 'out of luck',
    own: 'here',
    log: 'one\ntwo\n',
    fine: undefined,
  });
  assert.match(await run('describe', 'pod', 'last-words'), /Message: +out of luck\n +Exit Code: +3/);
});

test('[EPH-01] kubectl debug adds a container to a running pod', async () => {
  await apply('debugged', { containers: [shell('c', 'sleep 600')] });
  await waitFor('it runs', async () => / 1\/1 +Running /.test(await row('debugged')));
  const words = ['debug', 'debugged', '--image=busybox', '--container=look', '--profile=general', '--'];
  await run(...words, 'sh', '-c', 'echo "I am in $(hostname)"; exit 3');
  const status = await waitFor('it ended', async () => {
    const [found] = (await podOf('debugged')).status.ephemeralContainerStatuses ?? [];
    return found?.state.terminated !== undefined && found;
  });
  assert.deepEqual([status.name, status.state.terminated?.exitCode, status.restartCount], ['look', 3, 0]);
  assert.equal(await run('logs', 'debugged', '-c', 'look'), 'I am in debugged\n');
  assert.match(await row('debugged'), / 1\/1 +Running +0 /);
  assert.match(await run('describe', 'pod', 'debugged'), /Ephemeral Containers:\n +look:[\s\S]*State: +Terminated/);
});

test('[SAFE-04] [SAFE-09] [TERM-05] [TERM-06] [TERM-16] [TERM-17] the grace period of a deletion is recorded on the pod, and force frees the name at once', async () => {
  const deaf = shell('c', 'trap "" TERM; while :; do sleep 600; done');
  const grace = async (name: string): Promise<number | undefined> =>
    (await podOf(name)).metadata.deletionGracePeriodSeconds;
  for (const name of ['default-grace', 'own-grace'])
    await apply(name, { terminationGracePeriodSeconds: 30, containers: [deaf] });
  await waitFor('both run', async () => (await run('get', 'pods')).match(/-grace +1\/1 +Running/g)?.length === 2);
  await run('delete', 'pod', 'default-grace', '--wait=false');
  await run('delete', 'pod', 'own-grace', '--wait=false', '--grace-period=25');
  assert.deepEqual([await grace('default-grace'), await grace('own-grace')], [30, 25]);
  assert.match(await row('default-grace'), / Terminating /);
  const { uid } = (await podOf('own-grace')).metadata;
  const forced = await attempt('delete', 'pod', 'own-grace', 'default-grace', '--grace-period=0', '--force');
  assert.match(forced.stderr, /Immediate deletion does not wait for confirmation/);
  assert.equal(await apply('own-grace', { containers: [shell('c', 'sleep 600')] }), 'pod/own-grace created\n');
  const next = await waitFor('the next one runs', async () => {
    const pod = await podOf('own-grace');
    return pod.status.phase === 'Running' && pod;
  });
  assert.notEqual(next.metadata.uid, uid);
});

test('[POD-05] [LIFE-13] [LIFE-14] a deleted pod stays away, and a new one with its name inherits nothing', async () => {
  const script =
    'if [ -e /data-of-examples/x ]; then echo old; else echo new; fi; touch /data-of-examples/x; sleep 600';
  const spec = {
    containers: [shell('c', script, { volumeMounts: [{ name: 'data', mountPath: '/data-of-examples' }] })],
    volumes: [{ name: 'data', emptyDir: {} }],
  };
  const uids: (string | undefined)[] = [];
  for (let life = 0; life < 2; life++) {
    await apply('again', spec);
    await waitFor('it wrote', async () => (await attempt('logs', 'again')).stdout !== '');
    assert.equal(await run('logs', 'again'), 'new\n');
    uids.push((await podOf('again')).metadata.uid);
    await run('delete', 'pod', 'again');
    assert.match((await attempt('get', 'pod', 'again')).stderr, /NotFound/);
  }
  assert.notEqual(uids[0], uids[1]);
});

test('[EXP-19] an unbound or succeeded pod is removed at once whatever the grace period', async () => {
  await apply('unbound', { nodeSelector: { nobody: 'has-this' }, containers: [shell('c', 'sleep 600')] });
  await apply('succeeded', { restartPolicy: 'Never', containers: [shell('c', 'true')] });
  await ended('succeeded');
  await run('delete', 'pod', 'unbound', 'succeeded', '--grace-period=60', '--wait=false');
  for (const name of ['unbound', 'succeeded']) assert.match((await attempt('get', 'pod', name)).stderr, /NotFound/);
  await apply('negative', {
    terminationGracePeriodSeconds: 30,
    containers: [shell('c', 'trap "" TERM; while :; do sleep 9; done')],
  });
  await waitFor('it runs', async () => / 1\/1 +Running /.test(await row('negative')));
  const url = '/api/v1/namespaces/default/pods/negative?gracePeriodSeconds=-5';
  const answer = JSON.parse(await run('delete', '--raw', url)) as Pod;
  assert.equal(answer.metadata.deletionGracePeriodSeconds, 1);
});

test('[LIFE-32] a pod bound by hand to a node without room is rejected, with the message of a kubelet', async () => {
  const [nodeName = ''] = (await run('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
  const resources = { requests: { cpu: '1000' } };
  await apply('too-big', { nodeName, containers: [shell('c', 'sleep 600', { resources })] });
  await waitFor('it is rejected', async () => / 0\/1 +OutOfcpu +0 /.test(await row('too-big')));
  const { phase, reason, message = '' } = (await podOf('too-big')).status;
  assert.deepEqual([phase, reason], ['Failed', 'OutOfcpu']);
  assert.match(
    message,
    /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: \d+, capacity: \d+$/,
  );
});
