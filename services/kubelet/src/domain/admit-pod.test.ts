import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import fc from 'fast-check';
import { type AdmittingNode, admitPod, shareOf } from './admit-pod.ts';

const podOf = (spec: Partial<Pod['spec']> = {}, requests: Record<string, string> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'c', resources: { requests } }], ...spec },
  status: {},
});
const NODE: AdmittingNode = {
  name: 'n1',
  labels: { disk: 'ssd', cores: '8' },
  taints: [],
  allocatable: { cpu: '2', memory: '1Gi', pods: '3' },
};
const onPort = (hostPort: number, hostIP = '', protocol = 'TCP'): Pod =>
  podOf({
    containers: [{ name: 'c', resources: {}, ports: [{ containerPort: 80, hostPort, hostIP, protocol }] }],
  });
const reasonOf = (pod: Pod, node: Partial<AdmittingNode>, others: readonly Pod[] = []): string | undefined =>
  admitPod(pod, { ...NODE, ...node }, others.map(shareOf))?.reason;

test('[LIFE-32] a pod without room on the node is rejected with the message of a kubelet', () => {
  const refusal = admitPod(podOf({}, { cpu: '1500m' }), NODE, [shareOf(podOf({}, { cpu: '600m' }))]);
  const text = "Node didn't have enough resource: cpu, requested: 1500, used: 600, capacity: 2000";
  assert.deepEqual(refusal, {
    reason: 'OutOfcpu',
    message: `Pod was rejected: ${text}`,
    event: { type: 'Warning', message: text },
  });
  assert.equal(reasonOf(podOf({}, { memory: '2Gi' }), {}), 'OutOfmemory');
  assert.equal(reasonOf(podOf(), {}, [podOf(), podOf(), podOf()]), 'OutOfpods');
  assert.equal(reasonOf(podOf({}, { cpu: '2', memory: '1Gi' }), {}, [podOf()]), undefined);
  assert.equal(reasonOf(podOf({}, { 'example.com/gpu': '8' }), {}), undefined, 'not counted by this node');
});

test('[INIT-21] an init container reserves its requests, although the pod needs them only once', () => {
  const initContainers = [{ name: 'i', resources: { requests: { cpu: '3' } } }];
  assert.equal(reasonOf(podOf({ initContainers }), {}), 'OutOfcpu');
  const half = [{ name: 'i', resources: { requests: { cpu: '1' } } }];
  assert.equal(reasonOf(podOf({ initContainers: half }), {}, [podOf({ initContainers: half })]), undefined);
  const three = [podOf({ initContainers: half }), podOf({ initContainers: half })];
  assert.equal(reasonOf(podOf({}, { cpu: '1m' }), {}, three), 'OutOfcpu', 'what the others reserve is not given again');
});

test('[INIT-19] [INIT-20] [QOS-13] a pod requests the maximum of its running containers and of any init step, plus its overhead', () => {
  const using = (name: string, cpu: string, restartPolicy?: string) => ({
    name,
    resources: { requests: { cpu } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  const cpuOf = (spec: Partial<Pod['spec']>): number | undefined => shareOf(podOf(spec)).amounts['cpu'];
  const containers = [using('a', '200m'), using('b', '300m')];
  assert.equal(cpuOf({ containers }), 500);
  const inits = [using('i', '400m'), using('j', '450m')];
  assert.equal(cpuOf({ containers, initContainers: inits }), 500, 'init containers run one by one, before the others');
  assert.equal(cpuOf({ containers, initContainers: [...inits, using('k', '900m')] }), 900);
  const sidecar = using('s', '100m', 'Always');
  assert.equal(cpuOf({ containers, initContainers: [sidecar, ...inits] }), 600, 'a sidecar runs beside the others');
  assert.equal(cpuOf({ containers, initContainers: [sidecar, using('k', '900m')] }), 1_000, 'and beside later steps');
  assert.equal(cpuOf({ containers, initContainers: [using('k', '900m'), sidecar] }), 900, 'not beside earlier ones');
  assert.equal(cpuOf({ containers, overhead: { cpu: '50m' } }), 550);
});

test('[LIFE-32] selectors, affinity, host ports and NoExecute taints are checked, in this order', () => {
  const requiring = (operator: string, key: string, values?: string[]): Pod => {
    const matchExpressions = [{ key, operator, ...(values === undefined ? {} : { values }) }];
    const required = { nodeSelectorTerms: [{ matchExpressions }] };
    return podOf({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } });
  };
  const table: readonly [string, Pod, string | undefined][] = [
    ['selector met', podOf({ nodeSelector: { disk: 'ssd' } }), undefined],
    ['selector not met', podOf({ nodeSelector: { disk: 'hdd' } }), 'NodeAffinity'],
    ['in', requiring('In', 'disk', ['hdd', 'ssd']), undefined],
    ['not in', requiring('NotIn', 'disk', ['ssd']), 'NodeAffinity'],
    ['exists', requiring('Exists', 'disk'), undefined],
    ['does not exist', requiring('DoesNotExist', 'disk'), 'NodeAffinity'],
    ['greater', requiring('Gt', 'cores', ['4']), undefined],
    ['less', requiring('Lt', 'cores', ['4']), 'NodeAffinity'],
    ['not in what no label has', requiring('NotIn', 'disk', ['not a label!']), 'NodeAffinity'],
    ['unknown', requiring('Near', 'cores', ['4']), 'NodeAffinity'],
  ];
  for (const [what, pod, expected] of table) assert.equal(reasonOf(pod, {}), expected, what);
  assert.equal(reasonOf(onPort(80), {}, [onPort(80, '192.0.2.1')]), 'NodePorts');
  assert.equal(reasonOf(onPort(80, '192.0.2.2'), {}, [onPort(80, '192.0.2.1')]), undefined);
  assert.equal(reasonOf(onPort(80), {}, [onPort(80, '', 'UDP'), onPort(81)]), undefined);
});

test('only a NoExecute taint rejects a pod at the node, and tolerations match as usual', () => {
  const taint = { key: 'k', value: 'v', effect: 'NoExecute' };
  const under = (tolerations: Pod['spec']['tolerations'], effect = 'NoExecute'): string | undefined =>
    reasonOf(podOf(tolerations === undefined ? {} : { tolerations }), { taints: [{ ...taint, effect }] });
  assert.equal(under(undefined), 'TaintToleration');
  assert.equal(under(undefined, 'NoSchedule'), undefined);
  assert.equal(under([{ operator: 'Exists' }]), undefined);
  assert.equal(under([{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute' }]), undefined);
  assert.equal(under([{ key: 'k', operator: 'Equal', value: 'w' }]), 'TaintToleration');
  assert.equal(under([{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }]), 'TaintToleration');
});

test('[QOS-13] in any order of pods, admitted requests never exceed the node', () => {
  const asked = fc.array(fc.record({ cpu: fc.nat(1_500), port: fc.constantFrom(0, 80, 81) }), { maxLength: 12 });
  fc.assert(
    fc.property(asked, (pods) => {
      const admitted: ReturnType<typeof shareOf>[] = [];
      for (const { cpu, port } of pods) {
        const pod = port === 0 ? podOf() : onPort(port);
        const containers = pod.spec.containers.map((each) => ({
          ...each,
          resources: { requests: { cpu: `${cpu}m` } },
        }));
        const asking = { ...pod, spec: { ...pod.spec, containers } };
        if (admitPod(asking, NODE, admitted) === undefined) admitted.push(shareOf(asking));
      }
      const ports = admitted.flatMap(({ hostPorts }) => hostPorts);
      assert.ok(admitted.length <= 3 && new Set(ports).size === ports.length);
      assert.ok(admitted.reduce((sum, { amounts }) => sum + (amounts['cpu'] ?? 0), 0) <= 2_000);
    }),
  );
});
