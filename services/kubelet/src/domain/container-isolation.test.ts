import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import { containerIsolation, resourcesOf } from './container-isolation.ts';
import { sandboxIsolation } from './sandbox-isolation.ts';

const container = (change: Partial<Container> = {}): Container => ({ name: 'c', image: 'i', resources: {}, ...change });

const podOf = (containers: readonly Container[], spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [...containers], ...spec },
  status: { phase: 'Pending' },
});

const NODE_MEMORY = '10Gi';

const resources = (limits: Record<string, string>, requests: Record<string, string> = limits) => {
  const subject = container({ resources: { limits, requests } });
  return resourcesOf(podOf([subject]), subject, NODE_MEMORY);
};

test('limits become cgroup values', () => {
  assert.deepEqual(resources({ cpu: '500m', memory: '64Mi' }), {
    cpuShares: 512,
    cpuQuota: 50_000,
    cpuPeriod: 100_000,
    memoryLimitBytes: 64 * 1024 * 1024,
    oomScoreAdjust: -997,
  });
  assert.deepEqual(resources({}), { cpuShares: 2, oomScoreAdjust: 1000 });
  assert.equal(resources({ cpu: '1m' }).cpuQuota, 1_000, 'the kernel takes no less');
  assert.deepEqual(resources({ 'hugepages-2Mi': '4Mi', memory: '1Gi' }).hugepages, [
    { pageSize: '2MB', limitBytes: 4 * 1024 * 1024 },
  ]);
});

test('[QOS-15] a pod with smaller requests is killed first when memory runs out', () => {
  const burstable = (memory: string): number => resources({}, { memory }).oomScoreAdjust;
  assert.equal(burstable('1Gi'), 900);
  assert.equal(burstable('5Gi'), 500);
  assert.equal(burstable('1'), 999);
  assert.equal(burstable('10Gi'), 2);
  assert.equal(burstable('20Gi'), 2, 'never among the guaranteed');
  assert.equal(resources({ cpu: '1', memory: '1Gi' }).oomScoreAdjust, -997);
  assert.equal(resources({}).oomScoreAdjust, 1000);
  const critical = container();
  assert.equal(resourcesOf(podOf([critical], { priority: 2_000_001_000 }), critical, NODE_MEMORY).oomScoreAdjust, -997);
});

test('[QOS-08] a burstable container is guaranteed its request and, without a limit, may use the rest of the node', () => {
  const asked = resources({}, { cpu: '250m', memory: '1Gi' });
  assert.deepEqual([asked.cpuShares, asked.cpuQuota, asked.memoryLimitBytes], [256, undefined, undefined]);
  const halfLimited = resources({ memory: '2Gi' }, { cpu: '250m', memory: '1Gi' });
  assert.deepEqual([halfLimited.cpuQuota, halfLimited.memoryLimitBytes], [undefined, 2 * 1024 ** 3]);
});

test('[QOS-07] [QOS-11] a container gets no more than its limits: memory is bounded, the CPU throttled', () => {
  const guaranteed = resources({ cpu: '1500m', memory: '1Gi' });
  assert.equal(guaranteed.memoryLimitBytes, 1024 ** 3);
  assert.deepEqual([guaranteed.cpuQuota, guaranteed.cpuPeriod], [150_000, 100_000]);
  const one = container({ name: 'one', resources: { limits: { memory: '1Gi' } } });
  const other = container({ name: 'other' });
  const pod = podOf([one, other]);
  assert.equal(resourcesOf(pod, one, NODE_MEMORY).memoryLimitBytes, 1024 ** 3);
  assert.equal(resourcesOf(pod, other, NODE_MEMORY).memoryLimitBytes, undefined, 'each container for itself');
});

test('[QOS-09] [EXP-14] next to a guaranteed pod with 4 of 16 cores a best-effort pod may use the other 12, and yields to all', () => {
  const guaranteed = resources({ cpu: '4', memory: '1Gi' });
  const bestEffort = resources({});
  const coresOf = ({ cpuQuota, cpuPeriod }: typeof guaranteed): number =>
    cpuQuota === undefined || cpuPeriod === undefined ? 16 : cpuQuota / cpuPeriod;
  assert.deepEqual([coresOf(guaranteed), coresOf(bestEffort)], [4, 16], 'nothing holds it back but what others take');
  assert.equal(bestEffort.cpuShares, 2, 'the least that the kernel knows');
  assert.ok(guaranteed.cpuShares >= 4 * 1024);
});

test('[QOS-10] memory QoS is off: no memory is reserved and no container is throttled before its limit', () => {
  const asked = resources({ cpu: '1', memory: '2Gi' }, { cpu: '1', memory: '1Gi' });
  assert.deepEqual(Object.keys(asked).toSorted(), [
    'cpuPeriod',
    'cpuQuota',
    'cpuShares',
    'memoryLimitBytes',
    'oomScoreAdjust',
  ]);
});

test('the user comes from the container, the pod, the image, or is root, in this order', () => {
  const userOf = (own: Container['securityContext'], shared: Pod['spec']['securityContext'], image = {}): unknown => {
    const subject = container(own === undefined ? {} : { securityContext: own });
    const pod = podOf([subject], shared === undefined ? {} : { securityContext: shared });
    const { security } = containerIsolation(pod, subject, { image, nodeMemory: NODE_MEMORY, target: undefined });
    return [security.user, security.userName];
  };
  assert.deepEqual(userOf({ runAsUser: 1 }, { runAsUser: 2 }, { user: 3 }), [1, undefined]);
  assert.deepEqual(userOf(undefined, { runAsUser: 2 }, { user: 3 }), [2, undefined]);
  assert.deepEqual(userOf(undefined, undefined, { user: 3 }), [3, undefined]);
  assert.deepEqual(userOf(undefined, undefined, { userName: 'nobody' }), [undefined, 'nobody']);
  assert.deepEqual(userOf(undefined, undefined), [0, undefined]);
  assert.throws(() => userOf({ runAsNonRoot: true }, undefined), /image will run as root/);
  assert.throws(() => userOf({ runAsNonRoot: true }, { runAsUser: 0 }), /breaks non-root policy/);
  assert.throws(() => userOf({ runAsNonRoot: true }, undefined, { userName: 'x' }), /non-numeric user \(x\)/);
  assert.deepEqual(userOf({ runAsNonRoot: true }, undefined, { user: 3 }), [3, undefined]);
});

test('[POD-04] [POD-28] [POD-29] the containers of a pod share network and IPC, and have separate processes unless the pod shares them', () => {
  const namespacesOf = (spec: Partial<Pod['spec']>) =>
    sandboxIsolation(podOf([container(), container({ name: 'other' })], spec), undefined).namespaces;
  assert.deepEqual(namespacesOf({}), { network: 'pod', ipc: 'pod', pid: 'container' });
  assert.deepEqual(namespacesOf({ shareProcessNamespace: true }), { network: 'pod', ipc: 'pod', pid: 'pod' });
  assert.deepEqual(namespacesOf({ hostNetwork: true }), { network: 'node', ipc: 'pod', pid: 'container' });
  assert.deepEqual(namespacesOf({ hostIPC: true }), { network: 'pod', ipc: 'node', pid: 'container' });
});

test('a sandbox has the namespaces, ports and settings of its pod', () => {
  const privileged = container({
    securityContext: { privileged: true },
    ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }],
  });
  const asked = sandboxIsolation(
    podOf([privileged], {
      hostPID: true,
      securityContext: { fsGroup: 5, supplementalGroups: [6], sysctls: [{ name: 'a', value: '1' }] },
    }),
    'vm',
  );
  assert.deepEqual(asked.namespaces, { network: 'pod', ipc: 'pod', pid: 'node' });
  assert.deepEqual(asked.ports, [{ protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' }]);
  assert.deepEqual(
    [asked.privileged, asked.handler, asked.sysctls, asked.supplementalGroups],
    [true, 'vm', { a: '1' }, [6, 5]],
  );
  const onNode = sandboxIsolation(
    podOf([privileged], { hostNetwork: true, hostIPC: true, shareProcessNamespace: true }),
    undefined,
  );
  assert.deepEqual(onNode.namespaces, { network: 'node', ipc: 'node', pid: 'pod' });
  assert.deepEqual(onNode.ports, []);
});
