import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import type { RuntimeAbilities } from '../runtime/port.ts';
import { podUserId } from './pod-users.ts';
import { containerUser, notEnforced, refuseForeignIds, refuseMounts, sandboxRefusal } from './refusals.ts';

const AS_ROOT: RuntimeAbilities = { mounts: true, user: 'any' };
const ISOLATING: RuntimeAbilities = { ...AS_ROOT, isolation: true };
const AS_USER: RuntimeAbilities = { mounts: false, user: { uid: 1000, gid: 1000 } };

const container = (change: Partial<Container> = {}): Container => ({ name: 'c', image: 'i', resources: {}, ...change });

const podOf = (spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [container()], ...spec },
  status: { phase: 'Pending' },
});

test('a RuntimeClass requires a runtime with handlers', () => {
  assert.match(sandboxRefusal(podOf({ runtimeClassName: 'vm' }), AS_ROOT) ?? '', /^RuntimeClass "vm"/);
  assert.equal(sandboxRefusal(podOf({ runtimeClassName: 'vm' }), ISOLATING), undefined);
});

test('[USERNS-04] a pod with a user namespace has no ids above 65535', () => {
  const last = { runAsUser: 65_535, runAsGroup: 65_535, fsGroup: 65_535, supplementalGroups: [65_535] };
  refuseForeignIds(podOf({ hostUsers: false, securityContext: last }), container());
  const beyond = [
    { runAsUser: 65_536 },
    { runAsGroup: 70_000 },
    { fsGroup: 65_536 },
    { supplementalGroups: [1, 65_536] },
  ];
  for (const securityContext of beyond) {
    assert.throws(
      () => refuseForeignIds(podOf({ hostUsers: false, securityContext }), container()),
      /id (65536|70000) does not exist in the user namespace of the pod/,
    );
    refuseForeignIds(podOf({ securityContext }), container());
  }
  const own = container({ securityContext: { runAsUser: 65_536 } });
  assert.throws(() => refuseForeignIds(podOf({ hostUsers: false }), own), /id 65536 does not exist/);
});

test('groups of the pod are groups of its processes, when the node may set them', () => {
  const pod = podOf({ securityContext: { fsGroup: 5, supplementalGroups: [6] } });
  const own = podUserId(pod);
  assert.deepEqual(containerUser(pod, container(), AS_ROOT), { uid: own, gid: own, groups: [6, 5] });
});

test('sysctls that affect other pods of the node are refused', () => {
  const setting = (name: string): Pod => podOf({ securityContext: { sysctls: [{ name, value: '1' }] } });
  assert.equal(sandboxRefusal(setting('net.ipv4.tcp_syncookies'), ISOLATING), undefined);
  assert.equal(
    sandboxRefusal(setting('kernel.msgmax'), ISOLATING),
    'forbidden sysctl: "kernel.msgmax" not allowlisted',
  );
});

test('a container runs as the user it names, or not at all', () => {
  const runAs = (runAsUser: number, runAsGroup?: number): Container =>
    container({ securityContext: { runAsUser, ...(runAsGroup === undefined ? {} : { runAsGroup }) } });
  assert.deepEqual(containerUser(podOf(), runAs(7), AS_ROOT), { uid: 7, gid: podUserId(podOf()) });
  assert.deepEqual(containerUser(podOf({ securityContext: { runAsUser: 8, runAsGroup: 9 } }), runAs(7), AS_ROOT), {
    uid: 7,
    gid: 9,
  });
  assert.equal(containerUser(podOf(), runAs(1000, 1000), AS_USER), undefined);
  assert.throws(() => containerUser(podOf(), runAs(7), AS_USER), /cannot run as user 7/);
  assert.throws(() => containerUser(podOf(), runAs(1000, 7), AS_USER), /cannot run as group 7/);
});

test('runAsNonRoot is enforced: a container that would run as root does not start', () => {
  const nonRoot = container({ securityContext: { runAsNonRoot: true } });
  assert.equal(containerUser(podOf(), nonRoot, AS_ROOT)?.uid, podUserId(podOf()), 'the node chooses no root');
  const machine = podOf({ volumes: [{ name: 'v', hostPath: { path: '/srv' } }] });
  assert.throws(() => containerUser(machine, nonRoot, AS_ROOT), {
    name: 'ContainerConfigError',
    message: 'container has runAsNonRoot and image will run as root (pod: "p_n(u)", container: c)',
  });
  assert.throws(
    () => containerUser(podOf({ securityContext: { runAsUser: 0 } }), nonRoot, AS_ROOT, true),
    /breaks non-root policy/,
  );
  assert.equal(containerUser(podOf(), nonRoot, AS_USER), undefined);
});

test('without the right to mount only the service account token and tickets may be missing at their paths', () => {
  const mounting = (mountPath: string): Container => container({ volumeMounts: [{ name: 'v', mountPath }] });
  refuseMounts(mounting('/var/run/secrets/kubernetes.io/serviceaccount'), AS_USER);
  refuseMounts(mounting('/data'), AS_ROOT);
  refuseMounts(mounting('/data'), AS_USER, new Set(['v']));
  assert.throws(() => refuseMounts(mounting('/data'), AS_USER), /volume "v" cannot be mounted at \/data/);
  const withDevice = container({ volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] });
  assert.throws(() => refuseMounts(withDevice, AS_USER), /volume "d" is a block device, which this node cannot give/);
  refuseMounts(withDevice, { ...AS_ROOT, devices: true });
});

test('the process runtime does not propagate mounts, and reports it; container runtimes do', () => {
  const mountsAs = (mountPropagation: string): Container =>
    container({ volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation }] });
  for (const asked of ['HostToContainer', 'Bidirectional']) {
    assert.deepEqual(notEnforced(podOf(), mountsAs(asked), AS_ROOT), ['volumeMounts.mountPropagation']);
    assert.deepEqual(notEnforced(podOf(), mountsAs(asked), ISOLATING), []);
  }
  assert.deepEqual(notEnforced(podOf(), mountsAs('None'), AS_ROOT), []);
});

test('a port of the machine that leads to no port of the pod is reported', () => {
  const own = { ...AS_ROOT, ownNetworks: true } as const;
  const at = (hostPort: number): Container => container({ ports: [{ containerPort: 80, hostPort }] });
  const port53 = (protocol: string): Container => container({ ports: [{ containerPort: 53, hostPort: 53, protocol }] });
  assert.deepEqual(notEnforced(podOf(), port53('UDP'), own), []);
  assert.deepEqual(notEnforced(podOf(), port53('SCTP'), own), ['ports.hostPort']);
  assert.deepEqual(notEnforced(podOf(), at(8_080), own), []);
  assert.deepEqual(notEnforced(podOf({ hostNetwork: true }), at(80), own), []);
  assert.deepEqual(notEnforced(podOf(), container({ ports: [{ containerPort: 80 }] }), own), []);
  assert.deepEqual(notEnforced(podOf(), at(8_080), AS_ROOT), ['ports.hostPort']);
  assert.deepEqual(notEnforced(podOf(), at(80), AS_ROOT), []);
  assert.deepEqual(notEnforced(podOf(), at(8_080), ISOLATING), []);
});

test('unenforced limits and restrictions are reported', () => {
  assert.deepEqual(notEnforced(podOf(), container({ terminationMessagePath: '/dev/termination-log' }), AS_USER), []);
  const says = container({ terminationMessagePath: '/out' });
  assert.deepEqual(notEnforced(podOf(), says, AS_USER), ['terminationMessagePath']);
  assert.deepEqual(notEnforced(podOf(), says, AS_ROOT), []);
  const asking = container({
    resources: { limits: { memory: '1Gi' } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, privileged: false },
  });
  assert.deepEqual(notEnforced(podOf(), asking, { ...AS_ROOT, confines: true }), ['resources.limits.memory']);
  const pod = podOf({ volumes: [{ name: 'v', emptyDir: { medium: 'Memory' } }], securityContext: { fsGroup: 1 } });
  const common = [
    'resources.limits.memory',
    'securityContext.allowPrivilegeEscalation=false',
    'securityContext.capabilities',
  ];
  assert.deepEqual(notEnforced(pod, asking, AS_ROOT), [...common, 'volume v: emptyDir.medium']);
  const onlyRoot = ['securityContext.fsGroup', 'volume v: emptyDir.medium'];
  assert.deepEqual(notEnforced(pod, asking, AS_USER), [...common, ...onlyRoot]);
  const limited = podOf({ volumes: [{ name: 'v', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }] });
  assert.deepEqual(notEnforced(limited, container({}), { ...AS_ROOT, memoryVolumes: true }), []);
  const onDisk = podOf({ volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }] });
  const writes = container({ resources: { limits: { 'ephemeral-storage': '1Mi' } } });
  const watched = ['resources.limits.ephemeral-storage', 'volume v: emptyDir.sizeLimit'];
  assert.deepEqual(notEnforced(onDisk, writes, AS_ROOT), watched);
  assert.deepEqual(notEnforced(onDisk, writes, { ...AS_ROOT, watchesFiles: true }), [], 'the node evicts for them');
});
