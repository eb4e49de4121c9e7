import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage } from '@holdfast/machinery';
import type { Pod } from '../../generated/types.ts';
import { qosClassOf } from '../../semantics/qos.ts';
import { podResource } from './index.ts';
import { podDeletionSeconds } from './strategy.ts';
import { container, created, NOW, pod, updateErrors } from './testing.ts';

test('[EXP-01] a created pod gets its defaults and its QoS class', () => {
  const object = created(pod({ containers: [container({ ports: [{ containerPort: 80 }] })] }));
  assert.equal(object.spec.restartPolicy, 'Always');
  assert.equal(object.spec.terminationGracePeriodSeconds, 30);
  assert.equal(object.spec.containers[0]?.ports?.[0]?.protocol, 'TCP');
  assert.equal(object.spec.containers[0]?.imagePullPolicy, 'IfNotPresent');
  assert.deepEqual(object.status, { phase: 'Pending', qosClass: 'BestEffort' });
});

test('[POD-19] the identity of a pod is immutable, its labels and annotations are not', () => {
  const old = pod({}, { uid: 'u1', creationTimestamp: '2023-11-14T22:13:20Z' });
  for (const [field, value] of [
    ['name', 'other'],
    ['namespace', 'other'],
    ['uid', 'other'],
    ['creationTimestamp', '2024-01-01T00:00:00Z'],
  ] as const) {
    const errors = updateErrors(old, (p) => void (p.metadata[field] = value));
    assert.deepEqual(errors, [`metadata.${field}: Invalid value: "${value}": field is immutable`]);
  }
  const errors = updateErrors(old, ({ metadata }) => {
    metadata.labels = { app: 'web' };
    metadata.annotations = { note: 'n' };
    metadata.finalizers = ['example.com/a'];
    metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'u2' }];
  });
  assert.deepEqual(errors, []);
});

test('[POD-20] the generation never decreases', () => {
  const errors = updateErrors(pod({}, { generation: 5 }), (p) => void (p.metadata.generation = 4));
  assert.deepEqual(errors, ['metadata.generation: Invalid value: 4: must not be decremented']);
  for (const generation of [5, 6]) {
    assert.deepEqual(
      updateErrors(pod({}, { generation: 5 }), (p) => void (p.metadata.generation = generation)),
      [],
    );
  }
});

test('[POD-21] a terminating pod accepts no new finalizers', () => {
  const old = pod({}, { deletionTimestamp: '2023-11-14T22:13:20Z', finalizers: ['example.com/a'] });
  const errors = updateErrors(old, (p) => p.metadata.finalizers?.push('example.com/b'));
  assert.deepEqual(errors, [
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
  ]);
  assert.deepEqual(
    updateErrors(old, (p) => void delete p.metadata.finalizers),
    [],
  );
  const two = pod({}, { ...old.metadata, finalizers: ['example.com/a', 'example.com/b'] });
  assert.deepEqual(
    updateErrors(two, (p) => void p.metadata.finalizers?.shift()),
    [],
  );
  assert.match(
    updateErrors(two, (p) => void (p.metadata.finalizers = ['example.com/c']))[0] ?? '',
    /no new finalizers can be added .* \[\]string\{"example\.com\/c"\}$/,
  );
  assert.deepEqual(
    updateErrors(pod(), (p) => void (p.metadata.finalizers = ['example.com/b'])),
    [],
    'a pod that stays may get some',
  );
});

test('[POD-18] [POD-22] images are mutable, most other fields are immutable', () => {
  assert.deepEqual(
    updateErrors(pod(), (p) => void (p.spec.containers[0] = container({ image: 'busybox:2' }))),
    [],
  );
  const errors = updateErrors(pod(), (p) => void (p.spec.restartPolicy = 'Never'));
  assert.equal(errors.length, 1);
  assert.match(
    errors[0] ?? '',
    /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`/,
  );
  assert.deepEqual(
    updateErrors(pod(), (p) => p.spec.containers.push(container({ name: 'd' }))),
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  );
});

test('[POD-18] [POD-22] mutable fields: images of init containers, the deadline, added tolerations, and a negative grace period', () => {
  const initContainers = [container({ name: 'i' })];
  const old = pod({ initContainers, activeDeadlineSeconds: 50 });
  for (const change of [
    (p: Pod) => void (p.spec.initContainers = [container({ name: 'i', image: 'busybox:2' })]),
    (p: Pod) => void (p.spec.activeDeadlineSeconds = 40),
    (p: Pod) => void (p.spec.tolerations = [{ key: 'a', operator: 'Exists' }]),
  ]) {
    assert.deepEqual(updateErrors(old, change), []);
  }
  const withGrace = (before: number, after: number) => {
    const stored = { ...created(pod()), spec: { ...created(pod()).spec, terminationGracePeriodSeconds: before } };
    const changed = { ...stored, spec: { ...stored.spec, terminationGracePeriodSeconds: after } };
    return podResource.strategy
      .validateUpdate(changed, stored, { now: NOW })
      .map((error) => fieldErrorMessage(error).split(':')[0]);
  };
  assert.deepEqual([withGrace(-5, 1), withGrace(-5, 2), withGrace(5, 1)], [[], ['spec'], ['spec']]);
});

test('[POD-22] other fields of containers, of node selection and of the pod are immutable', () => {
  const changes: readonly ((spec: Pod['spec']) => void)[] = [
    (spec) => void (spec.containers = [container({ command: ['x'] })]),
    (spec) => void (spec.containers = [container({ resources: { limits: { cpu: '1' } } })]),
    (spec) => void (spec.nodeSelector = { a: 'b' }),
    (spec) => void (spec.nodeName = 'other'),
    (spec) => void (spec.affinity = { podAffinity: {} }),
    (spec) => void (spec.volumes = [{ name: 'v', emptyDir: {} }]),
    (spec) => void (spec.serviceAccountName = 'other'),
    (spec) => void (spec.hostNetwork = true),
    (spec) => void (spec.priority = 7),
    (spec) => void (spec.terminationGracePeriodSeconds = 5),
  ];
  for (const change of changes) {
    const [error = '', ...others] = updateErrors(pod({ initContainers: [container({ name: 'i' })] }), (p) =>
      change(p.spec),
    );
    assert.match(error, /^spec: Forbidden: pod updates may not change fields other than/, String(change));
    assert.deepEqual(others, []);
  }
});

test('[POD-22] the node affinity of a gated pod can only be narrowed, that of other pods is immutable', () => {
  const term = (...keys: readonly string[]) => ({ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) });
  const affinity = (...nodeSelectorTerms: readonly ReturnType<typeof term>[]) => ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...nodeSelectorTerms] } },
  });
  const schedulingGates = [{ name: 'example.com/g' }];
  const gated = pod({ schedulingGates, affinity: affinity(term('a')) });
  const changedTo = (old: Pod, changed: ReturnType<typeof affinity>): readonly string[] =>
    updateErrors(old, (p) => void (p.spec.affinity = changed));
  assert.deepEqual(changedTo(gated, affinity(term('a', 'b'))), []);
  assert.match(
    changedTo(gated, affinity(term('b')))[0] ?? '',
    /only additions are allowed \(no mutations or deletions\)$/,
  );
  assert.match(changedTo(gated, affinity(term('a'), term('b')))[0] ?? '', /no additions\/deletions to non-empty/);
  assert.deepEqual(changedTo(pod({ schedulingGates }), affinity(term('a'))), [], 'there was none');
  const free = pod({ affinity: affinity(term('a')) });
  assert.match(changedTo(free, affinity(term('a', 'b')))[0] ?? '', /^spec: Forbidden: pod updates may not change/);
});

test('[INIT-14] an update of an init container may change only its image', () => {
  const init = (changes = {}) => container({ name: 'setup', ...changes });
  const old = pod({ initContainers: [init()] });
  const withInit = (...initContainers: ReturnType<typeof init>[]) =>
    updateErrors(old, (p) => void (p.spec.initContainers = initContainers));
  assert.deepEqual(withInit(init({ image: 'busybox:2' })), []);
  for (const changes of [{ command: ['x'] }, { env: [{ name: 'A', value: 'b' }] }, { imagePullPolicy: 'Always' }]) {
    const [error, ...more] = withInit(init(changes));
    assert.match(error ?? '', /^spec: Forbidden: pod updates may not change fields other than/);
    assert.deepEqual(more, []);
  }
  assert.deepEqual(withInit(init(), init({ name: 'more' })), [
    'spec.initContainers: Forbidden: pod updates may not add or remove containers',
  ]);
});

test('[LIFE-36] [POD-22] a gated pod can be narrowed, and its gates only removed', () => {
  const gated = pod({ schedulingGates: [{ name: 'example.com/g' }], nodeSelector: { a: 'b' } });
  const [condition] = created(gated).status.conditions ?? [];
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason],
    ['PodScheduled', 'False', 'SchedulingGated'],
  );
  assert.equal(created(pod()).status.conditions, undefined);
  assert.deepEqual(
    updateErrors(gated, (p) => void (p.spec.nodeSelector = { a: 'b', c: 'd' })),
    [],
  );
  assert.deepEqual(
    updateErrors(gated, (p) => void (p.spec.nodeSelector = { c: 'd' })),
    [
      'spec.nodeSelector: Invalid value: map[string]string{"c":"d"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ],
  );
  assert.deepEqual(
    updateErrors(gated, (p) => void delete p.spec.schedulingGates),
    [],
  );
  assert.deepEqual(
    updateErrors(gated, (p) => p.spec.schedulingGates?.push({ name: 'example.com/h' })),
    [
      "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/h'",
    ],
  );
});

test('[POD-23] tolerations are only added; their seconds may change', () => {
  const old = pod({ tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }] });
  assert.deepEqual(
    updateErrors(old, (p) => p.spec.tolerations?.push({ key: 'b', operator: 'Exists' })),
    [],
  );
  assert.deepEqual(
    updateErrors(old, (p) => void (p.spec.tolerations = [{ ...p.spec.tolerations?.[0], tolerationSeconds: 9 }])),
    [],
  );
  assert.deepEqual(
    updateErrors(old, (p) => void delete p.spec.tolerations),
    ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
  );
  const first = { key: 'a', operator: 'Equal', value: 'v', effect: 'NoExecute' };
  const second = { key: 'b', operator: 'Exists' };
  const two = pod({ tolerations: [first, second] });
  for (const altered of [{ key: 'c' }, { operator: 'Exists', value: '' }, { value: 'w' }, { effect: 'NoSchedule' }]) {
    assert.deepEqual(
      updateErrors(two, (p) => void (p.spec.tolerations = [{ ...first, ...altered }, second])),
      ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
    );
  }
  assert.equal(updateErrors(two, (p) => void p.spec.tolerations?.pop()).length, 1, 'one is missing');
  assert.deepEqual(
    updateErrors(two, (p) => void (p.spec.tolerations = [first, { ...second, operator: 'Equal' }])),
    ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
  );
});

test('[POD-24] an active deadline may only be shortened', () => {
  const old = pod({ activeDeadlineSeconds: 50 });
  assert.deepEqual(
    updateErrors(pod(), (p) => void (p.spec.activeDeadlineSeconds = 9)),
    [],
  );
  assert.deepEqual(
    updateErrors(old, (p) => void (p.spec.activeDeadlineSeconds = 9)),
    [],
  );
  assert.deepEqual(
    updateErrors(old, (p) => void (p.spec.activeDeadlineSeconds = 51)),
    ['spec.activeDeadlineSeconds: Invalid value: 51: must be less than or equal to previous value'],
  );
  assert.deepEqual(
    updateErrors(old, (p) => void delete p.spec.activeDeadlineSeconds),
    ['spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive integer to nil value'],
  );
  for (const seconds of [0, -1]) {
    assert.match(
      updateErrors(pod(), (p) => void (p.spec.activeDeadlineSeconds = seconds))[0] ?? '',
      new RegExp(`^spec\\.activeDeadlineSeconds: Invalid value: ${seconds}: must be between`),
    );
  }
  assert.deepEqual(
    updateErrors(old, (p) => void (p.spec.activeDeadlineSeconds = 50)),
    [],
  );
});

test('a negative grace period becomes 1 in an update too, so a repeated update is accepted', () => {
  const change = (p: Pod): void => void (p.spec.terminationGracePeriodSeconds = -1);
  const negative = pod();
  change(negative);
  const old = created(negative);
  assert.equal(old.spec.terminationGracePeriodSeconds, 1);
  assert.deepEqual(updateErrors(old, change), []);
  assert.equal(updateErrors(created(pod()), change).length, 1, 'another period is still a change');
});

test('status does not change through the pod itself, nor the spec through its status', () => {
  const old = created(pod());
  const viaPod = structuredClone(old);
  viaPod.status.phase = 'Failed';
  podResource.strategy.prepareForUpdate(viaPod, old, { now: NOW });
  assert.equal(viaPod.status.phase, 'Pending');
  const viaStatus = structuredClone(old);
  viaStatus.spec.nodeName = 'n1';
  viaStatus.status.phase = 'Running';
  podResource.status?.prepareForUpdate(viaStatus, old, { now: NOW });
  assert.equal(viaStatus.spec.nodeName, undefined);
  assert.equal(viaStatus.status.phase, 'Running');
});

function ephemeralErrors(old: Pod, change: (pod: Pod) => void): readonly string[] {
  const after = structuredClone(old);
  change(after);
  podResource.setDefaults(after);
  const strategy = podResource.subresources?.['ephemeralcontainers'];
  strategy?.prepareForUpdate(after, old, { now: NOW });
  return (strategy?.validateUpdate(after, old, { now: NOW }) ?? []).map(fieldErrorMessage);
}

test('[EPH-03] [EPH-04] an ephemeral container has no ports, probes or resources', () => {
  const errors = ephemeralErrors(created(pod()), (p) => {
    const livenessProbe = { tcpSocket: { port: 1 } };
    p.spec.ephemeralContainers = [
      { name: 'd', image: 'x', ports: [{ containerPort: 1 }], livenessProbe, resources: { limits: { cpu: '1' } } },
    ];
  });
  const text = 'Forbidden: cannot be set for an Ephemeral Container';
  assert.deepEqual(
    errors,
    ['ports', 'resources', 'livenessProbe'].map((key) => `spec.ephemeralContainers[0].${key}: ${text}`),
  );
});

test('[EPH-03] each field that is forbidden in an ephemeral container is refused by name, also in its mounts', () => {
  const probe = { tcpSocket: { port: 1 } };
  const forbidden = {
    ports: [{ containerPort: 1 }],
    resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
    restartPolicy: 'Always',
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    lifecycle: {},
  };
  // A field that another container uses already is not dropped as one of a feature that is off.
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }];
  const old = created(pod({ volumes: [{ name: 'v', emptyDir: {} }] }));
  old.spec.containers = [container({ ...old.spec.containers[0], resizePolicy })];
  const text = 'Forbidden: cannot be set for an Ephemeral Container';
  for (const [field, value] of Object.entries(forbidden)) {
    const errors = ephemeralErrors(old, (p) => {
      p.spec.ephemeralContainers = [{ name: 'd', image: 'x', resources: {}, [field]: value }];
    });
    assert.ok(errors.includes(`spec.ephemeralContainers[0].${field}: ${text}`), `${field}: ${errors.join('\n')}`);
  }
  for (const field of ['subPath', 'subPathExpr']) {
    const errors = ephemeralErrors(old, (p) => {
      const volumeMounts = [{ name: 'v', mountPath: '/v', [field]: 'a' }];
      p.spec.ephemeralContainers = [{ name: 'd', image: 'x', resources: {}, volumeMounts }];
    });
    assert.deepEqual(errors, [`spec.ephemeralContainers[0].volumeMounts[0].${field}: ${text}`]);
  }
});

const withEphemeral = (): Pod => {
  const old = created(pod());
  old.spec.ephemeralContainers = [{ name: 'd', image: 'x', resources: {} }];
  podResource.setDefaults(old);
  return old;
};

test('[EPH-01] [EPH-05] an update of the pod adds no container of any kind', () => {
  const old = created(pod());
  const ephemeral = (p: Pod): void => void (p.spec.ephemeralContainers = [{ name: 'd', image: 'x', resources: {} }]);
  assert.deepEqual(
    updateErrors(old, (p) => p.spec.containers.push(container({ name: 'd' }))),
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  );
  assert.deepEqual(
    updateErrors(old, (p) => void (p.spec.initContainers = [container({ name: 'd' })])),
    ['spec.initContainers: Forbidden: pod updates may not add or remove containers'],
  );
  assert.equal(updateErrors(old, ephemeral).length, 1);
  assert.deepEqual(ephemeralErrors(old, ephemeral), [], 'its subresource adds one');
});

test('[EPH-05] a static pod accepts no ephemeral container', () => {
  const mirror = created(pod({}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }));
  const errors = ephemeralErrors(mirror, (p) => {
    p.spec.ephemeralContainers = [{ name: 'd', image: 'x', resources: {} }];
  });
  assert.deepEqual(errors, ['[]: Forbidden: static pods do not support ephemeral containers']);
});

test('[EPH-06] [EPH-07] an ephemeral container stays as it is, and its target must exist', () => {
  const old = withEphemeral();
  for (const changes of [{ image: 'y' }, { command: ['sh'] }, { targetContainerName: 'c' }]) {
    const [error = '', ...more] = ephemeralErrors(old, (p) =>
      Object.assign(p.spec.ephemeralContainers?.[0] ?? {}, changes),
    );
    assert.match(error, /^spec\.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be changed/);
    assert.deepEqual(more, []);
  }
  assert.deepEqual(
    ephemeralErrors(old, (p) => void delete p.spec.ephemeralContainers),
    ['spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be removed\n'],
  );
  const errors = ephemeralErrors(old, (p) => {
    p.spec.ephemeralContainers?.push({ name: 'e', image: 'x', targetContainerName: 'nobody', resources: {} });
  });
  assert.deepEqual(errors, ['spec.ephemeralContainers[1].targetContainerName: Not found: "nobody"']);
  const targeting = (targetContainerName: string) =>
    ephemeralErrors(old, (p) => {
      p.spec.ephemeralContainers?.push({ name: 'e', image: 'x', targetContainerName, resources: {} });
    });
  assert.deepEqual(targeting('c'), []);
  assert.equal(targeting('d').length, 1, 'another ephemeral container is no target');
});

const withResources = (requests: Record<string, string>, limits: Record<string, string>): Pod =>
  pod({ containers: [container({ resources: { requests, limits } })] });

const FULL = { cpu: '1', memory: '1Gi' };

test('[QOS-01] [INIT-22] the class is set at creation whatever the client sends, and init containers count', () => {
  const claimed = withResources({}, FULL);
  claimed.status = { qosClass: 'BestEffort' };
  assert.equal(created(claimed).status.qosClass, 'Guaranteed');
  const init = container({ name: 'i', resources: { requests: { cpu: '1' } } });
  assert.equal(created(pod({ initContainers: [init] })).status.qosClass, 'Burstable');
  const plainInit = withResources(FULL, FULL);
  plainInit.spec.initContainers = [container({ name: 'i' })];
  assert.equal(created(plainInit).status.qosClass, 'Burstable');
});

test('[EPH-08] an ephemeral container does not change the class', () => {
  const object = withEphemeral();
  const [first] = object.spec.ephemeralContainers ?? [];
  if (first !== undefined) first.resources = { requests: FULL, limits: FULL };
  assert.equal(qosClassOf(object), 'BestEffort');
  const guaranteed = withResources(FULL, FULL);
  guaranteed.spec.ephemeralContainers = [{ name: 'd', image: 'x', resources: {} }];
  assert.equal(qosClassOf(guaranteed), 'Guaranteed');
});

test('[QOS-01] the class is set at creation and never changes', () => {
  const old = created(pod());
  const after = structuredClone(old);
  after.status.qosClass = 'Guaranteed';
  const errors = podResource.status?.validateUpdate(after, old, { now: NOW }).map(fieldErrorMessage);
  assert.deepEqual(errors, ['status.qosClass: Invalid value: "Guaranteed": field is immutable']);
});

test('[QOS-02] equal requests and limits of cpu and memory are Guaranteed, and requests follow limits', () => {
  assert.equal(created(withResources({}, { cpu: '1', memory: '1Gi' })).status.qosClass, 'Guaranteed');
  assert.equal(created(withResources({}, { cpu: '1' })).status.qosClass, 'Burstable');
  assert.equal(qosClassOf(withResources({}, FULL)), 'Guaranteed', 'also of a pod that nobody has defaulted');
  for (const requests of [
    { ...FULL, cpu: '500m' },
    { ...FULL, memory: '512Mi' },
  ]) {
    assert.equal(created(withResources(requests, FULL)).status.qosClass, 'Burstable', JSON.stringify(requests));
  }
  for (const zero of [
    { cpu: '0', memory: '1Gi' },
    { cpu: '1', memory: '0' },
  ]) {
    assert.equal(created(withResources(zero, zero)).status.qosClass, 'Burstable', 'zero counts as unset');
  }
  const two = withResources(FULL, FULL);
  two.spec.containers.push(container({ name: 'd' }));
  assert.equal(created(two).status.qosClass, 'Burstable', 'every container needs limits');
});

test('[QOS-03] [QOS-04] any request or limit makes a pod Burstable, none makes it BestEffort, and only cpu and memory count', () => {
  for (const some of [{ cpu: '1' }, { memory: '1Gi' }]) {
    assert.equal(qosClassOf(withResources(some, {})), 'Burstable');
    assert.equal(qosClassOf(withResources({}, some)), 'Burstable');
  }
  assert.equal(qosClassOf(withResources({ 'ephemeral-storage': '1Gi' }, {})), 'BestEffort');
  assert.equal(qosClassOf(withResources({ cpu: '0' }, {})), 'BestEffort');
});

const running = (seconds?: number): Pod => {
  const object = created(
    pod({ nodeName: 'n1', ...(seconds === undefined ? {} : { terminationGracePeriodSeconds: seconds }) }),
  );
  object.status.phase = 'Running';
  return object;
};

test('[TERM-39] [SAFE-04] the requested grace period applies, else that of the pod', () => {
  assert.equal(podDeletionSeconds(running(40), 5), 5);
  assert.equal(podDeletionSeconds(running(40), undefined), 40);
  assert.equal(podDeletionSeconds(running(), undefined), 30);
});

test('[EXP-19] [TERM-40] a pod that never ran or has finished is removed at once', () => {
  assert.equal(podDeletionSeconds(created(pod()), 60), 0);
  for (const phase of ['Succeeded', 'Failed']) {
    const done = running();
    done.status.phase = phase;
    assert.equal(podDeletionSeconds(done, 60), 0);
  }
});

test('[EXP-19] [TERM-41] a negative period is one second', () => {
  assert.equal(podDeletionSeconds(running(), -5), 1);
  assert.equal(created(pod({ terminationGracePeriodSeconds: -1 })).spec.terminationGracePeriodSeconds, 1);
});
