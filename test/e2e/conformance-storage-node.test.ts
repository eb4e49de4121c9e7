import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { TestDockerd } from '../support/dockerd.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { mountsBelow } from '../support/machine-leftovers.ts';
import { waitFor } from '../support/wait.ts';

const dockerd = await TestDockerd.start();
const dataDir = mkdtempSync(path.join(tmpdir(), 'holdfast-walk-data-'));
const cluster = await HoldfastProcess.start(
  ['--runtime=docker', '--container-runtime-endpoint', dockerd.endpoint, '--without=proxy'],
  dataDir,
);
after(async () => {
  await cluster.stop();
  assert.deepEqual(mountsBelow(dataDir), [], 'nothing of the pods stays mounted');
  await dockerd[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

const kubectl = createKubectl(() => cluster.ready.kubeconfig);

const IMAGE = 'busybox:1.36';
const LIMITS = { cpu: '1250m', memory: '64Mi' };
const REQUESTS = { cpu: '250m', memory: '32Mi' };
const shell = (script: string) => ({ image: IMAGE, command: ['/bin/sh', '-c', script] });

interface Walk {
  readonly title: string;
  readonly container?: object;
  readonly spec?: object;
  /** What the container prints. */
  readonly says: RegExp;
}

const ofPod = (fieldPath: string, file: string, mode?: number) => ({
  path: file,
  fieldRef: { fieldPath },
  ...(mode === undefined ? {} : { mode }),
});
const ofLimit = (resource: string, file: string) => ({
  path: file,
  resourceFieldRef: { containerName: 'main', resource },
});
interface Mounted {
  readonly spec: object;
  readonly mounts: readonly object[];
}

const NOTHING_MOUNTED: Mounted = { spec: {}, mounts: [] };

const mounted = (volume: object, mount: object = {}): Mounted => ({
  spec: { volumes: [{ name: 'v', ...volume }] },
  mounts: [{ name: 'v', mountPath: '/v', ...mount }],
});

/** A script, or a whole container. */
function walk(title: string, run: string | object, says: RegExp, { spec, mounts }: Mounted = NOTHING_MOUNTED): Walk {
  const container = typeof run === 'string' ? shell(run) : run;
  const resources = { limits: LIMITS, requests: REQUESTS };
  return { title, container: { ...container, volumeMounts: mounts, resources }, spec, says };
}

const NAMED = [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
const CONFINED = {
  readOnlyRootFilesystem: true,
  runAsUser: 65_534,
  runAsGroup: 2_000,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};

/** Drawn by lot from the conformance tests of storage and of nodes: those whose containers print what they see. */
const WALKS: readonly Walk[] = [
  walk(
    'Downward API volume should set mode on item file',
    'stat -L -c %a /v/podname; cat /v/podname',
    /^400\nwalk-0/,
    mounted({ downwardAPI: { items: [ofPod('metadata.name', 'podname', 0o400)] } }),
  ),
  walk(
    "Downward API volume should provide container's cpu limit",
    'cat /v/cpu',
    /^2$/,
    mounted({ downwardAPI: { items: [ofLimit('limits.cpu', 'cpu')] } }),
  ),
  walk(
    'Subpath: configmap pod with mountPath of existing file',
    'cat /etc/group',
    /^content of the map$/,
    mounted({ configMap: { name: 'map' } }, { mountPath: '/etc/group', subPath: 'key' }),
  ),
  walk(
    "Projected downwardAPI should provide container's memory limit",
    'cat /v/memory',
    /^67108864$/,
    mounted({ projected: { sources: [{ downwardAPI: { items: [ofLimit('limits.memory', 'memory')] } }] } }),
  ),
  walk(
    'EmptyDir volumes should support (non-root,0666,tmpfs)',
    {
      ...shell(
        'umask 0; echo mine > /v/file; chmod 666 /v/file; stat -c "%a %u" /v/file; cat /v/file; grep " /v " /proc/mounts',
      ),
      securityContext: { runAsUser: 1001 },
    },
    /^666 1001\nmine\n\S+ \/v tmpfs /,
    mounted({ emptyDir: { medium: 'Memory' } }),
  ),
  walk(
    'Projected downwardAPI should set DefaultMode on files',
    'stat -L -c %a /v/podname',
    /^400$/,
    mounted({
      projected: { defaultMode: 0o400, sources: [{ downwardAPI: { items: [ofPod('metadata.name', 'podname')] } }] },
    }),
  ),
  {
    title: 'Secrets should be consumable in multiple volumes in a pod',
    container: {
      ...shell('cat /one/data-1 /two/data-1'),
      volumeMounts: [
        { name: 'one', mountPath: '/one', readOnly: true },
        { name: 'two', mountPath: '/two', readOnly: true },
      ],
    },
    spec: { volumes: ['one', 'two'].map((name) => ({ name, secret: { secretName: 'keys' } })) },
    says: /^value-1value-1$/,
  },
  {
    title: 'EmptyDir wrapper volumes should not conflict',
    container: {
      ...shell('cat /s/data-1 /c/key'),
      volumeMounts: [
        { name: 's', mountPath: '/s' },
        { name: 'c', mountPath: '/c' },
      ],
    },
    spec: {
      volumes: [
        { name: 's', secret: { secretName: 'keys' } },
        { name: 'c', configMap: { name: 'map' } },
      ],
    },
    says: /^value-1content of the map$/,
  },
  {
    title: "Containers should be able to override the image's default command and arguments",
    container: { image: IMAGE, command: ['/bin/echo', 'override'], args: ['arguments', 'too'] },
    says: /^override arguments too$/,
  },
  walk(
    'Variable Expansion should allow substituting values in a volume subpath',
    { ...shell('test -d /v && ls -d /whole/walk-9'), env: NAMED },
    /^\/whole\/walk-9$/,
    {
      spec: { volumes: [{ name: 'v', emptyDir: {} }] },
      mounts: [
        { name: 'v', mountPath: '/v', subPathExpr: '$(POD_NAME)' },
        { name: 'v', mountPath: '/whole' },
      ],
    },
  ),
  {
    ...walk('Sysctls should support sysctls', 'cat /proc/sys/kernel/shm_rmid_forced', /^1$/),
    spec: { securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] } },
  },
  {
    title: 'InitContainer should invoke init containers on a RestartNever pod',
    container: { ...shell('cat /v/begun'), volumeMounts: [{ name: 'v', mountPath: '/v' }] },
    spec: {
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: ['one', 'two'].map((name) => ({
        name,
        ...shell(`echo ${name} >> /v/begun`),
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      })),
    },
    says: /^one\ntwo$/,
  },
  walk(
    'Security Context: readOnlyRootFilesystem, capabilities, privilege escalation, user and group',
    {
      ...shell('id -u; id -g; touch /x 2>&1; grep -E "CapEff|NoNewPrivs" /proc/self/status'),
      securityContext: CONFINED,
    },
    /^65534\n2000\n.*Read-only file system\nCapEff:\s+0+\nNoNewPrivs:\s+1$/,
  ),
];

const podOf = ({ container, spec }: Walk, index: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `walk-${index}` },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    ...spec,
    containers: [{ name: 'main', ...container }],
  },
});

test('conformance tests of storage and nodes, on a container runtime: what their containers print', async () => {
  await kubectl.run('create', 'configmap', 'map', '--from-literal=key=content of the map');
  await kubectl.run('create', 'secret', 'generic', 'keys', '--from-literal=data-1=value-1');
  await kubectl.send(['create'], ...WALKS.map(podOf));
  const differing: string[] = [];
  for (const [index, { title, says }] of WALKS.entries()) {
    const name = `walk-${index}`;
    const phase = await waitFor(`${title} has ended`, async () => {
      const found = await kubectl.run('get', 'pod', name, '-o', 'jsonpath={.status.phase}');
      return (found === 'Succeeded' || found === 'Failed') && found;
    });
    const printed = (await kubectl.run('logs', name)).trim();
    if (phase !== 'Succeeded' || !says.test(printed)) differing.push(`${title}: ${phase}\n${printed}`);
  }
  assert.deepEqual(differing, []);
});

const RUNNING = { restartPolicy: 'Always', terminationGracePeriodSeconds: 1 };
const STATUS =
  'jsonpath={.status.qosClass} {.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}';

test('conformance tests of nodes with containers that go on: probes, ephemeral containers, labels, QoS, deletion', async () => {
  const serving = {
    ...shell('exec nc -ll -p 8080 -e /bin/cat'),
    livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
  };
  const never = { ...shell('exec sleep 600'), readinessProbe: { exec: { command: ['/bin/false'] }, periodSeconds: 1 } };
  const labels = {
    ...shell('exec sleep 600'),
    resources: { limits: LIMITS, requests: LIMITS },
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
  };
  const volumes = [{ name: 'v', downwardAPI: { items: [ofPod('metadata.labels', 'labels')] } }];
  const pods = Object.entries({ serving, never, labels, failing: shell('exit 1') });
  await kubectl.send(
    ['create'],
    ...pods.map(([name, container]) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { step: 'one' } },
      spec: { ...RUNNING, volumes, containers: [{ name: 'main', ...container }] },
    })),
  );
  const status = (name: string): Promise<string> => kubectl.run('get', 'pod', name, '-o', STATUS);
  await waitFor('the pod serves', async () => (await status('serving')) === 'BestEffort true 0');
  await waitFor('limits that are requests', async () => (await status('labels')) === 'Guaranteed true 0');
  await kubectl.run('label', 'pod', 'labels', '--overwrite', 'step=two');
  const read = ['exec', 'labels', '--', 'cat', '/v/labels'];
  await waitFor('the new label is in the file', async () => (await kubectl.run(...read)).includes('step="two"'));
  for (const name of ['first', 'second']) {
    const args = ['debug', 'labels', `--image=${IMAGE}`, '--container', name, '--', 'sleep', '600'];
    await kubectl.run(...args);
    const state = `jsonpath={.status.ephemeralContainerStatuses[?(@.name=="${name}")].state.running.startedAt}`;
    await waitFor(`${name} runs`, async () => (await kubectl.run('get', 'pod', 'labels', '-o', state)) !== '');
  }
  await waitFor('it fails again', async () => !(await status('failing')).endsWith(' 0'));
  await kubectl.run('delete', 'pod', 'failing', '--timeout=30s');
  assert.deepEqual([await status('never'), await status('serving')], ['BestEffort false 0', 'BestEffort true 0']);
});
