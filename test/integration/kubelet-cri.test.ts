import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Container, Node, Pod } from '@holdfast/api';
import { TestContainerd } from '../support/containerd.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const containerd = await TestContainerd.start();
const dataDir = mkdtempSync(path.join(tmpdir(), 'holdfast-cri-data-'));
const flags = ['--container-runtime-endpoint', containerd.endpoint, '--without=proxy'];
let cluster = await HoldfastProcess.start(flags, dataDir);
after(async () => {
  await cluster.stop();
  await containerd[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

const kubectl = createKubectl(() => cluster.ready.kubeconfig);
const NODE = 'node-1';

const shell = (script: string): string[] => ['/bin/sh', '-c', script];

const container = (change: Partial<Container> = {}): Container => ({
  name: 'main',
  image: 'busybox:1.36',
  command: shell('trap "exit 0" TERM; echo started; sleep 600 & wait'),
  resources: {},
  ...change,
});

const manifest = (name: string, spec: Partial<Pod['spec']>): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: { terminationGracePeriodSeconds: 5, ...spec },
});

async function create(name: string, spec: Partial<Pod['spec']>): Promise<void> {
  await kubectl.send(['create'], manifest(name, spec));
}

const getPod = async (name: string): Promise<Pod | undefined> => {
  const { code, stdout } = await kubectl.attempt('get', 'pod', name, '-o', 'json');
  return code === 0 ? (JSON.parse(stdout) as Pod) : undefined;
};

const podWhere = (name: string, holds: (pod: Pod) => boolean, what: string): Promise<Pod> =>
  waitFor(`pod ${name}: ${what}`, async () => {
    const pod = await getPod(name);
    return pod !== undefined && holds(pod) && pod;
  });

const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

const stateOf = ({ status }: Pod) => status.containerStatuses?.[0]?.state;

async function remove(name: string): Promise<void> {
  await kubectl.run('delete', 'pod', name, '--wait=true', '--timeout=50s');
}

const node = async (): Promise<Node> => JSON.parse(await kubectl.run('get', 'node', NODE, '-o', 'json')) as Node;

const readyCondition = async () => (await node()).status.conditions?.find(({ type }) => type === 'Ready');

const whenReady = (): Promise<unknown> =>
  waitFor('the node is ready', async () => (await readyCondition())?.status === 'True');

const messages = async (name: string): Promise<string> =>
  kubectl.run('get', 'events', `--field-selector=involvedObject.name=${name}`, '-o', 'jsonpath={.items[*].message}');

const containersOf = (name: string): readonly string[] =>
  containerd
    .ctr(['containers', 'ls', '-q', `labels."io.kubernetes.pod.name"==${name}`])
    .split('\n')
    .filter(Boolean);

test('the node reports its runtime and its images', async () => {
  await whenReady();
  const { status } = await node();
  assert.match(status.nodeInfo.containerRuntimeVersion, /^containerd:\/\/\d/);
  const names = (status.images ?? []).flatMap((image) => image.names ?? []);
  assert.ok(names.includes('docker.io/library/busybox:1.36'), names.join());
});

test('the node promises to end its exclusive pods when it is disconnected', async () => {
  const promise = await waitFor('the node promises', async () => {
    const found = (await node()).status.conditions?.find(({ type }) => type === 'SelfFencing');
    return found?.status === 'True' && found;
  });
  assert.equal(promise.status, 'True');
});

test('a Deployment runs in containers: addresses of their own, probes, logs, exec', async () => {
  const web = container({
    command: shell('mkdir -p /www && echo hello > /www/index.html && echo listening && exec httpd -f -p 8080 -h /www'),
    ports: [{ containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/index.html', port: 8080 }, periodSeconds: 1 },
    livenessProbe: { exec: { command: ['cat', '/www/index.html'] }, periodSeconds: 1, timeoutSeconds: 30 },
  });
  await kubectl.send(['create'], {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [web], terminationGracePeriodSeconds: 1 },
      },
    },
  });
  await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=50s');
  const pods = (JSON.parse(await kubectl.run('get', 'pods', '-l', 'app=web', '-o', 'json')) as { items: Pod[] }).items;
  const addresses = pods.map(({ status }) => status.podIP ?? '');
  assert.equal(new Set(addresses).size, 2, addresses.join());
  for (const { status, metadata } of pods) {
    assert.match(status.podIP ?? '', /^10\./);
    const families = (status.podIPs ?? []).map(({ ip }) => isIP(ip));
    assert.deepEqual(families, containerd.hasIpv6 ? [4, 6] : [4]);
    assert.notEqual(status.podIP, status.hostIP);
    const [first] = status.containerStatuses ?? [];
    assert.match(first?.containerID ?? '', /^containerd:\/\/[0-9a-f]{64}$/);
    assert.match(first?.imageID ?? '', /sha256:/);
    await waitFor('its log', async () => (await kubectl.run('logs', metadata.name ?? '')) === 'listening\n');
    assert.equal(await kubectl.run('exec', metadata.name ?? '', '--', 'cat', '/www/index.html'), 'hello\n');
  }
  await kubectl.run('delete', 'deployment', 'web', '--cascade=foreground', '--timeout=50s');
});

test('[SAFE-13] [TERM-01] a deleted pod gets its stop signal and its grace period, and nothing of it is left in the runtime', async () => {
  const command = shell('trap "echo bye > /data/bye; exit 0" TERM; echo up; while :; do sleep 0.1; done');
  const hostFolder = path.join(dataDir, 'shared');
  await create('graceful', {
    containers: [container({ command, volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    volumes: [{ name: 'data', hostPath: { path: hostFolder, type: 'DirectoryOrCreate' } }],
  });
  await podWhere('graceful', isReady, 'is ready');
  await waitFor('it says that it is up', async () => (await kubectl.run('logs', 'graceful')) === 'up\n');
  assert.notDeepEqual(containersOf('graceful'), []);
  await remove('graceful');
  assert.ok(existsSync(path.join(hostFolder, 'bye')), 'the signal came before the end');
  assert.deepEqual(containersOf('graceful'), []);
});

test('[TERM-03] the stop signal of the image is sent instead of TERM', async () => {
  const hostFolder = path.join(dataDir, 'signals');
  const command = shell(
    'trap "echo USR1 > /data/said; exit 0" USR1; trap "echo TERM > /data/said; exit 0" TERM; echo up; while :; do sleep 0.1; done',
  );
  await create('signals', {
    containers: [
      container({ image: 'stops-on-usr1:1', command, volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
    ],
    volumes: [{ name: 'data', hostPath: { path: hostFolder, type: 'DirectoryOrCreate' } }],
  });
  await waitFor('it listens', async () => (await kubectl.attempt('logs', 'signals')).stdout === 'up\n');
  await remove('signals');
  assert.equal(readFileSync(path.join(hostFolder, 'said'), 'utf8'), 'USR1\n');
});

test('[POD-29] containers of one pod share memory by name, those of another have their own and another address', async () => {
  const writes = container({ name: 'writes', command: shell('echo ours > /dev/shm/x; sleep 600') });
  const reads = container({
    name: 'reads',
    command: shell('until cat /dev/shm/x; do sleep 0.1; done 2>/dev/null; sleep 600'),
  });
  const grace = { terminationGracePeriodSeconds: 0 };
  await create('together', { ...grace, containers: [writes, reads] });
  await waitFor('one reads what the other wrote', async () => {
    const { stdout } = await kubectl.attempt('logs', 'together', '-c', 'reads');
    return stdout === 'ours\n';
  });
  await create('apart', { ...grace, containers: [container({ command: shell('sleep 600') })] });
  const [together, apart] = [
    await podWhere('together', isReady, 'is ready'),
    await podWhere('apart', isReady, 'is ready'),
  ];
  assert.equal(await kubectl.run('exec', 'apart', '--', 'ls', '/dev/shm'), '');
  assert.notEqual(together.status.podIP, apart.status.podIP);
  const ipcOf = (pod: string, name: string) =>
    kubectl.run('exec', pod, '-c', name, '--', 'readlink', '/proc/self/ns/ipc');
  assert.equal(await ipcOf('together', 'writes'), await ipcOf('together', 'reads'));
  assert.notEqual(await ipcOf('together', 'writes'), await ipcOf('apart', 'main'));
  await Promise.all([remove('together'), remove('apart')]);
});

test('[LIFE-18] the termination message of a container without one is the end of its log, unchanged', async () => {
  await create('last-words', {
    restartPolicy: 'Never',
    containers: [
      container({
        command: shell('echo one; echo two >&2; exit 3'),
        terminationMessagePolicy: 'FallbackToLogsOnError',
      }),
    ],
  });
  const { status } = await podWhere('last-words', ({ status }) => status.phase === 'Failed', 'failed');
  const message = status.containerStatuses?.[0]?.state.terminated?.message ?? '';
  assert.deepEqual(message.split('\n').toSorted(), ['', 'one', 'two']);
  await remove('last-words');
});

test('[QOS-11] a container over its memory limit is OOMKilled and restarted; the others of its pod keep running', async () => {
  await create('greedy', {
    containers: [
      container({
        command: shell('echo eating; exec tail -c 200000000 /dev/zero'),
        resources: { limits: { memory: '24Mi' }, requests: { memory: '24Mi' } },
      }),
      container({ name: 'other' }),
    ],
  });
  const lastEnd = ({ status }: Pick<Pod, 'status'>) => {
    const [first] = status.containerStatuses ?? [];
    return first?.lastState?.terminated ?? first?.state?.terminated;
  };
  // containerd reports the end and its cause as two events, and the end may be seen first.
  const pod = await podWhere('greedy', (each) => lastEnd(each)?.reason === 'OOMKilled', 'was ended for its memory');
  assert.equal(lastEnd(pod)?.exitCode, 137);
  const again = await podWhere(
    'greedy',
    ({ status }) =>
      (status.containerStatuses?.[0]?.restartCount ?? 0) > 0 && status.containerStatuses?.[1]?.ready === true,
    'restarts',
  );
  assert.equal(again.status.containerStatuses?.[1]?.restartCount, 0);
  await remove('greedy');
});

test('the security settings of a pod take effect', async () => {
  const report =
    'id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; touch /no 2> /dev/null || echo readonly; hostname';
  await create('confined', {
    hostname: 'inside',
    restartPolicy: 'Never',
    securityContext: { runAsUser: 1234, runAsGroup: 2345, supplementalGroups: [77], fsGroup: 88 },
    containers: [
      container({
        command: shell(report),
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
      }),
    ],
  });
  await podWhere('confined', ({ status }) => status.phase === 'Succeeded', 'ends');
  const lines = (await kubectl.run('logs', 'confined')).replaceAll('\t', ' ').split('\n');
  assert.deepEqual(lines.slice(0, 2), ['1234', '2345']);
  assert.deepEqual(lines[2]?.split(' ').toSorted(), ['2345', '77', '88']);
  assert.ok(lines.includes('NoNewPrivs: 1') && lines.includes('readonly') && lines.includes('inside'), lines.join('|'));
  await remove('confined');
});

test('files of a pod belong to its group; a memory volume has its size', async () => {
  const report =
    'touch /data/mine; stat -c %g /data/mine; cat /info/name; echo; dd if=/dev/zero of=/ram/x bs=1024 count=2048 2>/dev/null || echo full; grep " /ram tmpfs" /proc/mounts > /dev/null && echo memory';
  const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' }, mode: 0o400 }];
  const volumeMounts = ['data', 'ram', 'info'].map((name) => ({ name, mountPath: `/${name}` }));
  await create('owner', {
    restartPolicy: 'Never',
    securityContext: { runAsUser: 1234, runAsGroup: 2345, fsGroup: 88 },
    containers: [container({ command: shell(report), volumeMounts })],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'ram', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      { name: 'info', downwardAPI: { items } },
    ],
  });
  await podWhere('owner', ({ status }) => status.phase === 'Succeeded', 'ends');
  const lines = (await kubectl.run('logs', 'owner')).trim().split('\n');
  assert.deepEqual(lines, ['88', 'owner', 'full', 'memory']);
  await remove('owner');
});

test('runAsNonRoot checks the user of the image', async () => {
  const refuse = (name: string, image: string): Promise<void> =>
    create(name, { containers: [{ name: 'main', image, resources: {}, securityContext: { runAsNonRoot: true } }] });
  await refuse('image-root', 'nginx:1.27');
  await refuse('image-name', 'as-name:1');
  await refuse('image-number', 'as-nobody:1');
  const waiting = async (name: string): Promise<string> =>
    stateOf(await podWhere(name, (pod) => stateOf(pod)?.waiting?.message !== undefined, 'waits'))?.waiting?.message ??
    '';
  assert.match(await waiting('image-root'), /^container has runAsNonRoot and image will run as root/);
  assert.match(await waiting('image-name'), /image has non-numeric user \(nobody\), cannot verify user is non-root/);
  await podWhere('image-number', isReady, 'is ready');
  await Promise.all(['image-root', 'image-name', 'image-number'].map(remove));
});

test('[LIFE-16] images: an unavailable image is reported by name', async () => {
  const wants = (name: string, image: string, imagePullPolicy: string): Promise<void> =>
    create(name, { containers: [container({ image, imagePullPolicy })] });
  await wants('never', 'not-here:1', 'Never');
  await wants('pull', 'localhost:1/not-here:1', 'IfNotPresent');
  await wants('bad-name', 'Not An Image', 'IfNotPresent');
  const reason = (name: string, wanted: string): Promise<Pod> =>
    podWhere(name, (pod) => stateOf(pod)?.waiting?.reason === wanted, wanted);
  await reason('never', 'ErrImageNeverPull');
  await reason('bad-name', 'InvalidImageName');
  await reason('pull', 'ErrImagePull');
  const pod = await reason('pull', 'ImagePullBackOff');
  assert.match(
    stateOf(pod)?.waiting?.message ?? '',
    /^Back-off pulling image "localhost:1\/not-here:1": ErrImagePull: /,
  );
  await waitFor('the events', async () =>
    /Failed to pull image "localhost:1\/not-here:1"/.test(await messages('pull')),
  );
  await Promise.all(['never', 'pull', 'bad-name'].map(remove));
});

test('containers of a pod share its network, and its processes on request', async () => {
  await create('shared', {
    shareProcessNamespace: true,
    containers: [
      container({ name: 'server', command: shell('mkdir /www; echo ours > /www/x; exec httpd -f -p 8081 -h /www') }),
      container({
        name: 'client',
        command: shell(
          'until wget -qO- http://127.0.0.1:8081/x; do sleep 0.1; done; pgrep() { ps | grep "[h]ttpd -f"; }; pgrep; sleep 600',
        ),
      }),
    ],
  });
  await waitFor('the client saw the server', async () => {
    const { stdout } = await kubectl.attempt('logs', 'shared', '-c', 'client');
    return /ours\n[^]*httpd -f/.test(stdout);
  });
  await kubectl.run('delete', 'pod', 'shared', '--grace-period=1', '--timeout=50s');
});

test('[TEST-05] kill -9 of the cluster leaves containers running; the next start adopts them', async () => {
  await create('stays', { containers: [container()] });
  const before = await podWhere('stays', isReady, 'is ready');
  const containers = containersOf('stays');
  await cluster.stop('SIGKILL');
  assert.deepEqual(containersOf('stays'), containers);
  cluster = await HoldfastProcess.start(flags, dataDir);
  await whenReady();
  const after = await podWhere('stays', isReady, 'is ready again');
  assert.deepEqual(after.status.containerStatuses, before.status.containerStatuses);
  assert.deepEqual(containersOf('stays'), containers, 'nothing was started a second time');
});

test('[SAFE-12] an unavailable runtime makes the node unready, and nothing is lost or started twice when it is back', async () => {
  const before = await podWhere('stays', isReady, 'is ready');
  const containers = containersOf('stays');
  await containerd.kill();
  const condition = await waitFor('the node is not ready', async () => {
    const ready = await readyCondition();
    return ready?.status === 'False' && ready;
  });
  assert.equal(condition.reason, 'KubeletNotReady');
  assert.match(condition.message ?? '', /^container runtime is down/);
  await kubectl.send(['create'], manifest('waits', { nodeName: NODE, containers: [container()] }));
  await containerd.launch();
  await whenReady();
  await podWhere('waits', isReady, 'runs once the runtime is back');
  const after = await podWhere('stays', isReady, 'still runs');
  assert.deepEqual(after.status.containerStatuses, before.status.containerStatuses);
  assert.deepEqual(containersOf('stays'), containers);
  assert.equal(containersOf('waits').length, 2, 'a sandbox and its container');
  await Promise.all(['stays', 'waits'].map(remove));
});

test('without a pod network the node is not ready and reports it; --cni-conf-dir makes one', async () => {
  containerd.removeNetworkConfiguration();
  const condition = await waitFor('the node is not ready', async () => {
    const ready = await readyCondition();
    return ready?.status === 'False' && ready;
  });
  assert.match(
    condition.message ?? '',
    /^container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:.*cni plugin not initialized/,
  );
  containerd.configureNetwork();
  await cluster.stop();
  containerd.removeNetworkConfiguration();
  const file = path.join(containerd.networkDirectory, '10-holdfast.conflist');
  cluster = await HoldfastProcess.start([...flags, '--cni-conf-dir', containerd.networkDirectory], dataDir);
  await whenReady();
  await create('networked', { containers: [container()] });
  const { status } = await podWhere('networked', isReady, 'is ready in the network of the cluster');
  assert.match(status.podIP ?? '', /^10\.244\./);
  await remove('networked');
  await cluster.stop();
  assert.equal(existsSync(file), false, 'the network ends with the cluster');
  assert.equal(existsSync('/sys/class/net/holdfast0'), false);
});
