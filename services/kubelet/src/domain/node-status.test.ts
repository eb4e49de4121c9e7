import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareOf } from '../adapters/machine-facts.ts';
import { readKubeletConfig } from '../config.ts';
import { allocatableOf } from '../eviction/allocatable.ts';
import { readAmounts, readTaints } from '../eviction/flags.ts';
import { DEFAULT_EVICTION_FLAGS, readEvictionConfig } from '../eviction/thresholds.ts';
import { hollowNodeFacts } from '../node/hollow-facts.ts';
import { newNode, nodeStatus } from './node-status.ts';

const facts = hollowNodeFacts({ name: 'n1', address: '192.0.2.1' });
const state = { facts, runtimeVersion: 'hollow://1', notReady: undefined, now: 1_767_225_600_000 };

test('conditions of a healthy node, and of one with every pressure', () => {
  const texts = (status: ReturnType<typeof nodeStatus>): readonly (string | undefined)[][] =>
    (status.conditions ?? []).map((each) => [each.type, each.status, each.reason, each.message]);
  assert.deepEqual(texts(nodeStatus(state, undefined)), [
    ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
  ]);
  const pressure = ['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;
  assert.deepEqual(texts(nodeStatus({ ...state, pressure }, undefined)).slice(0, 3), [
    ['MemoryPressure', 'True', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
    ['DiskPressure', 'True', 'KubeletHasDiskPressure', 'kubelet has disk pressure'],
    ['PIDPressure', 'True', 'KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
  ]);
});

test('[RWO-25] a new node carries its own name as a label', () => {
  const own = newNode({ ...state, facts: { ...facts, labels: { rack: 'r1' } } });
  assert.deepEqual([own.metadata.labels?.['kubernetes.io/hostname'], own.metadata.labels?.['rack']], ['n1', 'r1']);
});

test('a node without a port of its own reports the default port, never 0', () => {
  assert.equal(nodeStatus(state, undefined).daemonEndpoints?.kubeletEndpoint?.Port, 10_250);
  const other = nodeStatus({ ...state, facts: { ...facts, kubeletPort: 4_711 } }, undefined);
  assert.equal(other.daemonEndpoints?.kubeletEndpoint?.Port, 4_711);
});

test('nodes that share a machine advertise together no more than it has', () => {
  const config = readKubeletConfig({ argv: ['--state-dir=/s', '--nodes-on-machine=3'], env: {} });
  assert.ok(config !== undefined);
  const capacity = { cpu: '4', memory: '9216000Ki', 'ephemeral-storage': '94371840Ki', pods: '110' };
  const share = shareOf(capacity, config.nodesOnMachine);
  const eviction = readEvictionConfig({ ...DEFAULT_EVICTION_FLAGS, hard: 'memory.available<100Mi' });
  const allocatable = allocatableOf(share, [], eviction);
  assert.deepEqual(allocatable, {
    cpu: '1333m',
    memory: '2900Mi',
    'ephemeral-storage': '31457280Ki',
    pods: '110',
  });
});

test('extended resources that others write into the capacity are allocatable, and only these', () => {
  const old = nodeStatus(state, undefined);
  const capacity = { ...old.capacity, cpu: '999', 'example.com/dongle': '4', 'kubernetes.io/x': '1', unknown: '2' };
  const allocatable = { ...old.allocatable, 'example.com/gone': '1' };
  const status = nodeStatus(state, { ...old, capacity, allocatable });
  assert.deepEqual(status.allocatable, { ...facts.allocatable, 'example.com/dongle': '4' });
  assert.deepEqual(status.capacity, { ...facts.capacity, 'example.com/dongle': '4' });
  const counted = { ...facts, capacity: { ...facts.capacity, 'example.com/dongle': '8' } };
  assert.equal(nodeStatus({ ...state, facts: counted }, { ...old, capacity }).capacity?.['example.com/dongle'], '8');
});

test('the transition time of an unchanged condition stays', () => {
  const before = nodeStatus({ ...state, pressure: ['DiskPressure'] }, undefined);
  const later = { ...state, now: state.now + 60_000 };
  const time = (status: ReturnType<typeof nodeStatus>, type: string): string | undefined =>
    status.conditions?.find((each) => each.type === type)?.lastTransitionTime ?? undefined;
  const kept = nodeStatus({ ...later, pressure: ['DiskPressure'] }, before);
  assert.equal(time(kept, 'DiskPressure'), time(before, 'DiskPressure'));
  assert.notEqual(time(nodeStatus(later, before), 'DiskPressure'), time(before, 'DiskPressure'));
});

test('allocatable is the capacity without the reserved part and the eviction threshold', () => {
  const capacity = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi', pods: '110' };
  const reserved = [
    readAmounts('system-reserved', 'cpu=500m,memory=1Gi'),
    readAmounts('kube-reserved', 'memory=924Mi'),
  ];
  assert.deepEqual(allocatableOf(capacity, reserved, readEvictionConfig(DEFAULT_EVICTION_FLAGS)), {
    cpu: '3500m',
    memory: '6Gi',
    'ephemeral-storage': '90Gi',
    pods: '110',
  });
  const none = readEvictionConfig({ ...DEFAULT_EVICTION_FLAGS, hard: 'nodefs.available<0%' });
  assert.deepEqual(allocatableOf(capacity, [], none), capacity);
});

test('a new node has the taints of its flag; an invalid taint is refused', () => {
  const taints = readTaints('dedicated=gpu:NoSchedule,slow:PreferNoSchedule');
  assert.deepEqual(newNode({ ...state, facts: { ...facts, taints } }).spec.taints, [
    { key: 'dedicated', effect: 'NoSchedule', value: 'gpu' },
    { key: 'slow', effect: 'PreferNoSchedule' },
  ]);
  assert.deepEqual(newNode(state).spec, {});
  assert.throws(() => readTaints('dedicated=gpu'), /--register-with-taints cannot be read at "dedicated=gpu"/);
  assert.throws(() => readAmounts('kube-reserved', 'memory=lots'), /--kube-reserved cannot be read at "memory=lots"/);
});
