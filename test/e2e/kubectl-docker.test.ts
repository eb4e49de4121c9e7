import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { TestDockerd } from '../support/dockerd.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const dockerd = await TestDockerd.start();
const dataDir = mkdtempSync(path.join(tmpdir(), 'holdfast-docker-data-'));
const flags = ['--runtime=docker', '--container-runtime-endpoint', dockerd.endpoint, '--nodes=2', '--without=proxy'];
let cluster = await HoldfastProcess.start(flags, dataDir);
after(async () => {
  await cluster.stop();
  await dockerd[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

const kubectl = createKubectl(() => cluster.ready.kubeconfig);

/** Busybox's web server; it says the name of its pod. All replicas listen on one port. */
const SERVE = 'mkdir -p /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p 80 -h /tmp/www';

const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['/bin/sh', '-c', `echo begun; ${SERVE}`],
            ports: [{ containerPort: 80 }],
            readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};

const PAGE = '/api/v1/namespaces/default/services/web/proxy/';

test('a deployment on a Docker engine: replicas with addresses, names, logs, exec and proxies', async () => {
  await kubectl.send(['create'], WEB);
  await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=120s');
  await kubectl.run('expose', 'deployment', 'web', '--port=80');
  const addresses = await kubectl.run('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].status.podIP}');
  assert.equal(new Set(addresses.split(' ')).size, 3, addresses);
  const names = (await kubectl.run('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
  await waitFor('the log has its line', async () => (await kubectl.run('logs', names[0] ?? '')) === 'begun\n');
  assert.equal((await kubectl.run('exec', names[1] ?? '', '--', 'hostname')).trim(), names[1]);
  const answer = await waitFor('the service answers', async () => {
    const { code, stdout } = await kubectl.attempt('get', '--raw', PAGE);
    return code === 0 && stdout.trim();
  });
  assert.ok(names.includes(answer), answer);
  const peers = addresses.split(' ').slice(0, 2);
  for (const peer of peers)
    assert.ok(
      names.includes((await kubectl.run('exec', names[2] ?? '', '--', 'wget', '-qO-', `http://${peer}`)).trim()),
    );
  const version = await kubectl.run(
    'get',
    'nodes',
    '-o',
    'jsonpath={.items[*].status.nodeInfo.containerRuntimeVersion}',
  );
  assert.match(version, /^docker:\/\/\S+ docker:\/\/\S+$/);
});

const CONFINED = {
  readOnlyRootFilesystem: true,
  runAsUser: 65_534,
  runAsGroup: 2_000,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};
const bare = (name: string, restartPolicy: string, main: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    restartPolicy,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'busybox:1.36', ...main }],
  },
});

test('a container is confined as its security context says, and one that always fails can be deleted', async () => {
  const look = 'id -u; id -g; touch /x 2>&1; grep -E "CapEff|NoNewPrivs" /proc/self/status';
  await kubectl.send(
    ['create'],
    bare('confined', 'Never', { command: ['/bin/sh', '-c', look], securityContext: CONFINED }),
    bare('failing', 'Always', { command: ['/bin/sh', '-c', 'exit 1'] }),
  );
  await kubectl.run('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/confined', '--timeout=60s');
  const printed = (await kubectl.run('logs', 'confined')).trim();
  assert.match(printed, /^65534\n2000\n.*Read-only file system\nCapEff:\s+0+\nNoNewPrivs:\s+1$/);
  const restarts = 'jsonpath={.status.containerStatuses[0].restartCount}';
  await waitFor('it fails again', async () => Number(await kubectl.run('get', 'pod', 'failing', '-o', restarts)) > 0);
  await kubectl.run('delete', 'pod', 'failing', 'confined', '--timeout=30s');
});

test('an image that the engine cannot pull is reported and tried again', async () => {
  await kubectl.run('run', 'absent', '--image=localhost:1/nobody/absent:1');
  await waitFor('the pull backs off', async () => {
    const reason = await kubectl.run(
      'get',
      'pod',
      'absent',
      '-o',
      'jsonpath={.status.containerStatuses[0].state.waiting.reason}',
    );
    return reason === 'ImagePullBackOff' || reason === 'ErrImagePull';
  });
  await kubectl.run('delete', 'pod', 'absent', '--grace-period=1');
});

test('a killed cluster finds its containers, and a stopped one leaves none running', async () => {
  const ids = async (): Promise<string> =>
    kubectl.run('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].status.containerStatuses[0].containerID}');
  const before = await ids();
  await cluster.stop('SIGKILL');
  cluster = await HoldfastProcess.start(flags, dataDir);
  await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s');
  assert.equal(await ids(), before);
  await kubectl.run('delete', 'deployment', 'web');
  await waitFor('all pods are gone', async () => (await kubectl.run('get', 'pods', '-o', 'name')) === '');
  await waitFor('no container is left', async () => dockerd.containers().length === 0);
});
