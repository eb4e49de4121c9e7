import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, replaced, row, stored } from '../testing.ts';

const container = (more: JsonObject = {}): JsonObject => ({
  name: 'c',
  image: 'i',
  imagePullPolicy: 'Always',
  ...more,
});
const pod = (spec: JsonObject = {}, metadata: JsonObject = {}, status: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', ...metadata },
  spec: { containers: [container()], ...spec },
  status,
});
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const fieldsOf = (value: unknown, key: string): JsonObject => (value as Record<string, JsonObject>)[key] ?? {};

test('immutable fields of a pod', () => {
  const cases: readonly (readonly [before: JsonObject, after: JsonObject, errors: readonly string[]])[] = [
    [
      {},
      { containers: [container({ image: '' })] },
      ['spec.containers[0].image: Required value', 'spec.containers[0].image: Required value'],
    ],
    [
      {},
      { containers: [container({ image: ' i' })] },
      [
        'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
        'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
      ],
    ],
    [
      { activeDeadlineSeconds: 5 },
      {},
      ['spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive integer to nil value'],
    ],
    [
      { activeDeadlineSeconds: 5 },
      { activeDeadlineSeconds: 6 },
      ['spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value'],
    ],
    [
      { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }] },
      { tolerations: [{ key: 'b', operator: 'Exists' }] },
      ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
    ],
    [
      {},
      { schedulingGates: [{ name: 'g' }] },
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"],
    ],
    [
      { schedulingGates: [{ name: 'g' }], nodeSelector: { a: 'b' } },
      { schedulingGates: [{ name: 'g' }], nodeSelector: { a: 'c' } },
      [
        'spec.nodeSelector: Invalid value: map[string]string{"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ],
    ],
    [
      { schedulingGates: [{ name: 'g' }], affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [{}] } } } },
      { schedulingGates: [{ name: 'g' }] },
      [
        `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms: Invalid value: []core.NodeSelectorTerm(nil): no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
      ],
    ],
    [{ schedulingGates: [{ name: 'g' }], nodeSelector: { a: 'b' } }, { nodeSelector: { a: 'b', c: 'd' } }, []],
    [
      {},
      { nodeSelector: { a: 'b' } },
      ['spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,…'],
    ],
  ];
  for (const [before, after, errors] of cases) {
    compareTexts(changeRefusals(pod(before), pod(after)), errors, JSON.stringify(after));
  }
  const notes = (annotations: JsonObject): JsonObject => pod({ nodeName: 'n' }, { annotations });
  const armor = 'container.apparmor.security.beta.kubernetes.io/c';
  assert.deepEqual(changeRefusals(notes({ 'kubernetes.io/config.mirror': 'a' }), notes({ [armor]: 'unconfined' })), [
    'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation',
    `metadata.annotations[${armor}]: Forbidden: may not add AppArmor annotations`,
  ]);
});

test('the status of a pod: addresses, conditions and names', () => {
  const status = (value: JsonObject): readonly string[] => changeRefusals(pod(), pod({}, {}, value), 'status');
  const P = 'status.podIPs';
  compareTexts(
    status({
      podIPs: [{ ip: '1.1.1.1' }, { ip: '1.1.1.1' }],
      hostIP: '2.2.2.2',
      hostIPs: [{ ip: '3.3.3.3' }, { ip: '3.3.3.3' }],
    }),
    [
      `${P}: Invalid value: []core.PodIP{core.PodIP{IP:"1.1.1.1"}, core.PodIP{IP:"1.1.1.1"}}: may specify no more than one IP for each IP family`,
      `${P}[1]: Duplicate value: core.PodIP{IP:"1.1.1.1"}`,
      'status.hostIPs[0].ip: Invalid value: "3.3.3.3": must be equal to `hostIP`',
      'status.hostIPs[1]: Duplicate value: core.HostIP{IP:"3.3.3.3"}',
      'status.hostIPs: Invalid value: []core.HostIP{core.HostIP{IP:"3.3.3.3"}, core.HostIP{IP:"3.3.3.3"}}: may specify no more than one IP for each IP family',
    ],
    'addresses',
  );
  compareTexts(
    status({
      podIPs: [{ ip: 'x' }],
      nominatedNodeName: 'N',
      qosClass: 'Guaranteed',
      conditions: [{ type: 'a b', status: 'True' }],
    }),
    [
      'metadata.conditions[0].Type: Invalid value: "a b": name part must consist…',
      'status.nominatedNodeName: Invalid value: "N": a lowercase RFC 1123 subdomain…',
      'status.qosClass: Invalid value: "Guaranteed": field is immutable',
      `${P}[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
    ],
    'texts',
  );
});

test('podIP equals the first entry of podIPs', () => {
  const addresses = (status: JsonObject): JsonObject => {
    const { podIP = '', podIPs = [] } = fieldsOf(replaced(pod(), pod({}, {}, { ...status }), 'status'), 'status');
    return { podIP, podIPs };
  };
  const one = { podIP: '1.1.1.1', podIPs: [{ ip: '1.1.1.1' }] };
  const both = { podIP: '1.1.1.1', podIPs: [{ ip: '1.1.1.1' }, { ip: '::1' }] };
  assert.deepEqual(addresses({ podIP: '1.1.1.1' }), one);
  assert.deepEqual(addresses({ podIPs: both.podIPs }), both);
  assert.deepEqual(addresses({ podIP: '1.1.1.1', podIPs: [{ ip: '2.2.2.2' }, { ip: '::1' }] }), one);
  assert.deepEqual(addresses(both), both);
  assert.deepEqual(addresses({}), { podIP: '', podIPs: [] });
});

test('the status of a pod has no fields of features that are off', () => {
  const containerStatuses = [
    {
      name: 'c',
      image: 'i',
      imageID: '',
      ready: true,
      restartCount: 0,
      user: { linux: { uid: 1, gid: 1 } },
      resources: { limits: { cpu: '1' } },
      allocatedResources: { cpu: '1' },
      allocatedResourcesStatus: [{ name: 'cpu' }],
    },
  ];
  const object = replaced(pod(), pod({}, {}, { phase: 'Running', resize: 'InProgress', containerStatuses }), 'status');
  const { containerStatuses: [told] = [], resize } = fieldsOf(object, 'status') as {
    containerStatuses?: JsonObject[];
    resize?: string;
  };
  assert.deepEqual(Object.keys(told ?? {}).toSorted(), [
    'image',
    'imageID',
    'lastState',
    'name',
    'ready',
    'restartCount',
    'state',
  ]);
  assert.equal(resize, undefined);
});

test('legacy annotations of init containers are dropped from pods and templates', () => {
  const kept = { a: 'b' };
  const old = {
    'pod.beta.kubernetes.io/init-containers': '[]',
    'pod.alpha.kubernetes.io/init-container-statuses': '[]',
  };
  assert.deepEqual(stored(pod({}, { annotations: { ...old, ...kept } })).metadata.annotations, kept);
  assert.equal(stored(pod({}, { annotations: old })).metadata.annotations, undefined);
  const template = { metadata: { annotations: { ...old, ...kept } }, spec: { containers: [container()] } };
  const kind = stored({ apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'p', namespace: 'n' }, template });
  assert.deepEqual(fieldsOf(fieldsOf(kind, 'template'), 'metadata')['annotations'], kept);
});

test('ephemeral containers are added and never removed', () => {
  const change = (before: JsonObject, ...ephemeralContainers: JsonObject[]): readonly string[] =>
    changeRefusals(before, pod({ ephemeralContainers }), 'ephemeralcontainers');
  assert.deepEqual(change(pod(), container({ name: 'e' })), []);
  assert.deepEqual(change(pod(), container()), ['spec.ephemeralContainers[0].name: Duplicate value: "c"']);
  const own = { livenessProbe: { tcpSocket: { port: 1 } }, lifecycle: {}, resources: {} };
  assert.deepEqual(change(pod(), container({ name: 'e', ...own })), [
    'spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container',
    'spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container',
  ]);
  const mirror = pod({ nodeName: 'n' }, { annotations: { 'kubernetes.io/config.mirror': 'a' } });
  assert.deepEqual(change(mirror, container({ name: 'e' })), [
    '[]: Forbidden: static pods do not support ephemeral containers',
  ]);
});

test('tables of pods in odd states', () => {
  const told = (name: string, more: JsonObject): JsonObject => ({
    name,
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    ...more,
  });
  const terminated = (more: JsonObject): JsonObject => ({ state: { terminated: { exitCode: 1, ...more } } });
  const init = { initContainers: [container({ name: 'a' }), container({ name: 'b' })] };
  const main = (...containerStatuses: JsonObject[]): JsonObject => ({ phase: 'Running', containerStatuses });
  const waiting = (reason: string): JsonObject => ({ state: { waiting: { reason } } });
  const running = { ready: true, state: { running: {} } };
  const first = (more: JsonObject): JsonObject => ({
    phase: 'Pending',
    initContainerStatuses: [told('a', more), told('b', {})],
  });
  const cases: readonly (readonly [words: string, spec: JsonObject, status: JsonObject, metadata?: JsonObject])[] = [
    ['0/1 Pending 0', {}, {}],
    ['0/1 Evicted 0', {}, { phase: 'Failed', reason: 'Evicted' }],
    ['0/1 Init:0/2 0', init, first({ state: { running: {} } })],
    ['0/1 Init:1/2 0', init, first(terminated({ exitCode: 0 }))],
    ['0/1 Init:0/2 0', init, first(waiting('PodInitializing'))],
    ['0/1 Init:ImagePullBackOff 0', init, first(waiting('ImagePullBackOff'))],
    ['0/1 Init:Error 0', init, first(terminated({ reason: 'Error' }))],
    ['0/1 Init:ExitCode:1 0', init, first(terminated({}))],
    ['0/1 Init:Signal:9 0', init, first(terminated({ signal: 9 }))],
    ['0/1 PodInitializing 0', {}, main(told('c', waiting('PodInitializing')))],
    [
      '0/1 Completed 0',
      {},
      { ...main(told('c', terminated({ exitCode: 0, reason: 'Completed' }))), phase: 'Succeeded' },
    ],
    ['0/1 ExitCode:1 0', {}, main(told('c', terminated({})))],
    ['0/1 Signal:9 0', {}, main(told('c', terminated({ signal: 9 })))],
    [
      '1/2 NotReady 0',
      { containers: [container(), container({ name: 'd' })] },
      main(told('c', terminated({ exitCode: 0, reason: 'Completed' })), told('d', running)),
    ],
    [
      '1/2 Running 0',
      { containers: [container(), container({ name: 'd' })] },
      {
        ...main(told('c', terminated({ exitCode: 0, reason: 'Completed' })), told('d', running)),
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    ],
    ['0/1 Terminating 0', {}, { phase: 'Running' }, { deletionTimestamp: '2023-11-14T00:00:00Z' }],
    ['0/1 Failed 0', {}, { phase: 'Failed' }, { deletionTimestamp: '2023-11-14T00:00:00Z' }],
    ['0/1 Unknown 0', {}, { phase: 'Running', reason: 'NodeLost' }, { deletionTimestamp: '2023-11-14T00:00:00Z' }],
    [
      '1/1 Running 2 (3h13m ago)',
      {},
      main(
        told('c', {
          ...running,
          restartCount: 2,
          lastState: { terminated: { exitCode: 1, finishedAt: '2023-11-14T19:00:00Z' } },
        }),
      ),
    ],
    ['1/1 Running 2', {}, main(told('c', { ...running, restartCount: 2 }))],
  ];
  for (const [words, spec, status, metadata] of cases) {
    const { Ready, Status, Restarts } = row(pod(spec, metadata, { phase: 'Pending', ...status }));
    assert.equal([Ready, Status, Restarts].map(String).join(' '), words);
  }
  const gated = row(
    pod(
      { readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
      {},
      { conditions: [{ type: 'b', status: 'True' }] },
    ),
  );
  assert.deepEqual(
    [gated['Readiness Gates'], gated['IP'], gated['Node'], gated['Nominated Node']],
    ['1/2', '<none>', '<none>', '<none>'],
  );
});

test('defaults of every part of a pod', () => {
  const probe = { httpGet: { port: 80 } };
  const object = stored(
    pod({
      hostNetwork: true,
      serviceAccount: 'a',
      containers: [
        container({
          image: 'x:1',
          imagePullPolicy: '',
          ports: [{ containerPort: 80 }],
          livenessProbe: probe,
          lifecycle: { preStop: { httpGet: { port: 1 } } },
          resources: { limits: { cpu: '100u' } },
          env: [
            { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          ],
        }),
      ],
      volumes: [
        { name: 'a' },
        { name: 'b', hostPath: { path: '/' } },
        { name: 'c', secret: { secretName: 's' } },
        { name: 'd', projected: { sources: [{ serviceAccountToken: { path: 'p' } }] } },
        { name: 'e', iscsi: { targetPortal: 'p', iqn: 'q', lun: 0 } },
        { name: 'f', rbd: { monitors: [], image: 'i' } },
        { name: 'g', azureDisk: { diskName: 'n', diskURI: 'u' } },
        { name: 'h', scaleIO: { gateway: '', system: '', secretRef: {} } },
      ],
    }),
  );
  const { containers, volumes, ...spec } = fieldsOf(object, 'spec');
  assert.deepEqual(spec, {
    dnsPolicy: 'ClusterFirst',
    enableServiceLinks: true,
    hostNetwork: true,
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    serviceAccount: 'a',
    serviceAccountName: 'a',
    terminationGracePeriodSeconds: 30,
  });
  assert.deepEqual(containers, [
    {
      name: 'c',
      image: 'x:1',
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }],
      livenessProbe: {
        httpGet: { path: '/', port: 80, scheme: 'HTTP' },
        failureThreshold: 3,
        periodSeconds: 10,
        successThreshold: 1,
        timeoutSeconds: 1,
      },
      lifecycle: { preStop: { httpGet: { path: '/', port: 1, scheme: 'HTTP' } } },
      resources: { limits: { cpu: '1m' }, requests: { cpu: '1m' } },
      env: [
        { name: 'A', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
        { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } },
      ],
    },
  ]);
  assert.deepEqual(volumes, [
    { name: 'a', emptyDir: {} },
    { name: 'b', hostPath: { path: '/', type: '' } },
    { name: 'c', secret: { secretName: 's', defaultMode: 420 } },
    {
      name: 'd',
      projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 'p', expirationSeconds: 3600 } }] },
    },
    { name: 'e', iscsi: { targetPortal: 'p', iqn: 'q', lun: 0, iscsiInterface: 'default' } },
    { name: 'f', rbd: { monitors: [], image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
    {
      name: 'g',
      azureDisk: {
        diskName: 'n',
        diskURI: 'u',
        cachingMode: 'ReadWrite',
        kind: 'Shared',
        fsType: 'ext4',
        readOnly: false,
      },
    },
    { name: 'h', scaleIO: { gateway: '', system: '', secretRef: {}, storageMode: 'ThinProvisioned', fsType: 'xfs' } },
  ]);
});

test('an AppArmor profile is written as annotation and as field, for old and new nodes', () => {
  const prefix = 'container.apparmor.security.beta.kubernetes.io/';
  const told = (spec: JsonObject, annotations?: JsonObject): readonly unknown[] => {
    const warnings: string[] = [];
    const object = stored(pod(spec, annotations === undefined ? {} : { annotations }), (text) => warnings.push(text));
    const [first] = fieldsOf(object, 'spec')['containers'] as readonly JsonObject[];
    return [object.metadata.annotations, fieldsOf(first, 'securityContext')['appArmorProfile'], ...warnings];
  };
  const own = (appArmorProfile: JsonObject): JsonObject => ({
    containers: [container({ securityContext: { appArmorProfile } })],
  });
  const local = { type: 'Localhost', localhostProfile: 'a' };
  assert.deepEqual(told({}), [undefined, undefined]);
  assert.deepEqual(told(own(local)), [{ [`${prefix}c`]: 'localhost/a' }, local]);
  assert.deepEqual(told({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }), [
    { [`${prefix}c`]: 'unconfined' },
    undefined,
  ]);
  const annotated = { [`${prefix}c`]: 'runtime/default' };
  const deprecated = `metadata.annotations[${prefix}c]: deprecated since v1.30; use the "appArmorProfile" field instead`;
  assert.deepEqual(told({}, annotated), [annotated, { type: 'RuntimeDefault' }, deprecated]);
  const ofPod = { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } };
  assert.deepEqual(told(ofPod, annotated), [annotated, undefined]);
  assert.deepEqual(told(own(local), annotated), [annotated, local]);
  assert.deepEqual(told({ os: { name: 'windows' } }, annotated), [annotated, undefined]);
  const wrong = { [`${prefix}c`]: 'localhost/' };
  assert.deepEqual(told({}, wrong), [wrong, undefined, deprecated]);
});
