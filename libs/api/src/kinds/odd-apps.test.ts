import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, replaced, row, statusRefusals, stored } from './testing.ts';

type Case = readonly [spec: JsonObject, errors: readonly string[]];

const LABELS = { app: 'a' };
const selector = { matchLabels: LABELS };
const template = (spec: JsonObject = {}, metadata: JsonObject = { labels: LABELS }): JsonObject => ({
  metadata,
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const object = (kind: string, spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'x', namespace: 'n', ...metadata },
  spec: { selector, template: template(), ...spec },
});
const check = (kind: string, cases: readonly Case[]): void => {
  for (const [spec, errors] of cases) compareTexts(refusals(object(kind, spec)), errors, JSON.stringify(spec));
};

const NEGATIVE = 'must be greater than or equal to 0';
const GO_SELECTOR =
  'v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}';
const MISMATCH = (labels: string): string =>
  `spec.template.metadata.labels: Invalid value: ${labels}: \`selector\` does not match template \`labels\``;
const ALWAYS = (value: string): string =>
  `spec.template.spec.restartPolicy: Unsupported value: "${value}": supported values: "Always"`;
const NO_DEADLINE = (kind: string): string =>
  `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${kind} is not Supported`;

test('deployments: refused fields', () => {
  check('Deployment', [
    [
      { replicas: -1, minReadySeconds: -2, revisionHistoryLimit: -3 },
      [
        `spec.replicas: Invalid value: -1: ${NEGATIVE}`,
        `spec.minReadySeconds: Invalid value: -2: ${NEGATIVE}`,
        `spec.revisionHistoryLimit: Invalid value: -3: ${NEGATIVE}`,
      ],
    ],
    [
      { progressDeadlineSeconds: 5, minReadySeconds: 5 },
      ['spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds'],
    ],
    [{ selector: {} }, [`spec.selector: Invalid value: ${GO_SELECTOR}: empty selector is invalid for deployment`]],
    [{ selector: null }, ['spec.selector: Required value', MISMATCH('map[string]string{"app":"a"}')]],
    [{ template: template({}, {}) }, [MISMATCH('map[string]string(nil)')]],
    [
      { selector: { matchExpressions: [{ key: 'app', operator: 'Foo' }] } },
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Foo": not a valid selector operator',
        'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"Foo", Values:[]string(nil)}}}: invalid label selector',
      ],
    ],
    [
      { template: template({ restartPolicy: 'Never', activeDeadlineSeconds: 1 }) },
      [ALWAYS('Never'), NO_DEADLINE('ReplicaSet')],
    ],
    [
      { strategy: { type: 'Recreate', rollingUpdate: {} } },
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      { strategy: { type: 'Foo' } },
      [
        'spec.strategy: Unsupported value: apps.DeploymentStrategy{Type:"Foo", RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
    [
      { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: '0%' } } },
      [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0',
      ],
    ],
    [
      { strategy: { rollingUpdate: { maxUnavailable: '101%', maxSurge: '5' } } },
      [
        'spec.strategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"5"}: a valid percent string must…',
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
      ],
    ],
    [
      { strategy: { rollingUpdate: { maxUnavailable: '5', maxSurge: 0 } } },
      [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"5"}: a valid percent string must…',
      ],
    ],
  ]);
  assert.deepEqual(changeRefusals(object('Deployment', {}), object('Deployment', { selector: {} })), [
    `spec.selector: Invalid value: ${GO_SELECTOR}: empty selector is invalid for deployment`,
    `spec.selector: Invalid value: ${GO_SELECTOR}: field is immutable`,
  ]);
});

test('an absent spec has the errors of an empty one', () => {
  const bare = (kind: string): JsonObject => ({ apiVersion: 'apps/v1', kind, metadata: { name: 'x', namespace: 'n' } });
  const REQUIRED = 'spec.selector: Required value';
  const NO_CONTAINERS = 'spec.template.spec.containers: Required value';
  const UNMATCHED = MISMATCH('map[string]string(nil)');
  for (const [kind, errors] of [
    ['Deployment', [REQUIRED, UNMATCHED, NO_CONTAINERS]],
    ['ReplicaSet', [REQUIRED, UNMATCHED, NO_CONTAINERS]],
    ['StatefulSet', [REQUIRED, UNMATCHED]],
    ['DaemonSet', [UNMATCHED, NO_CONTAINERS]],
  ] as const) {
    assert.deepEqual(refusals(bare(kind)), errors, kind);
    assert.deepEqual(refusals({ ...bare(kind), spec: {} }), errors, kind);
  }
});

test('deployments: status validation', () => {
  const deployment = (status: JsonObject): JsonObject => ({ ...object('Deployment', {}), status });
  const over = 'cannot be greater than status.replicas';
  const status = { replicas: 1, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 4, collisionCount: -1 };
  assert.deepEqual(changeRefusals(deployment({}), deployment(status), 'status'), [
    `status.collisionCount: Invalid value: -1: ${NEGATIVE}`,
    `status.updatedReplicas: Invalid value: 2: ${over}`,
    `status.readyReplicas: Invalid value: 3: ${over}`,
    `status.availableReplicas: Invalid value: 4: ${over}`,
    'status.availableReplicas: Invalid value: 4: cannot be greater than readyReplicas',
  ]);
});

test('the collision count does not decrease and is not removed', () => {
  const refusal = (value: number): readonly string[] => [
    `status.collisionCount: Invalid value: ${value}: cannot be decremented`,
  ];
  for (const kind of ['DaemonSet', 'Deployment', 'StatefulSet']) {
    const counted = (status: JsonObject): JsonObject => ({ ...object(kind, {}), status });
    for (const [before, after, errors] of [
      [{ collisionCount: 2 }, { collisionCount: 1 }, refusal(1)],
      [{ collisionCount: 0 }, {}, refusal(0)],
      [{}, { collisionCount: 0 }, []],
      [{ collisionCount: 1 }, { collisionCount: 2 }, []],
    ] as const) {
      assert.deepEqual(statusRefusals(counted(before), counted(after)), errors, `${kind} ${JSON.stringify(before)}`);
    }
  }
});

test('replica sets: an update reports every error twice', () => {
  check('ReplicaSet', [
    [
      { replicas: -1, selector: {} },
      [
        `spec.replicas: Invalid value: -1: ${NEGATIVE}`,
        `spec.selector: Invalid value: ${GO_SELECTOR}: empty selector is invalid for deployment`,
      ],
    ],
  ]);
  assert.deepEqual(changeRefusals(object('ReplicaSet', {}), object('ReplicaSet', { replicas: -1 })), [
    `spec.replicas: Invalid value: -1: ${NEGATIVE}`,
    `spec.replicas: Invalid value: -1: ${NEGATIVE}`,
  ]);
  const set = (status: JsonObject): JsonObject => ({ ...object('ReplicaSet', {}), status });
  assert.deepEqual(
    changeRefusals(set({}), set({ replicas: 0, fullyLabeledReplicas: 1, observedGeneration: -1 }), 'status'),
    [
      `status.observedGeneration: Invalid value: -1: ${NEGATIVE}`,
      'status.fullyLabeledReplicas: Invalid value: 1: cannot be greater than status.replicas',
    ],
  );
});

test('stateful sets: the template is validated when pods are created', () => {
  assert.deepEqual(refusals(object('StatefulSet', {}, { name: 'a.b' })), [
    'metadata.name: Invalid value: "a.b": must not contain dots',
  ]);
  check('StatefulSet', [
    [
      {
        template: template({
          containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/d' }] }],
        }),
      },
      [],
    ],
    [{ template: template({ containers: [] }) }, []],
    [
      { template: template({ restartPolicy: 'Foo', activeDeadlineSeconds: 1 }) },
      [ALWAYS('Foo'), NO_DEADLINE('StatefulSet')],
    ],
    [
      { podManagementPolicy: 'Foo' },
      ["spec.podManagementPolicy: Invalid value: \"Foo\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      { updateStrategy: { type: 'Foo' } },
      [
        "spec.updateStrategy: Invalid value: apps.StatefulSetUpdateStrategy{Type:\"Foo\", RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}: must be 'RollingUpdate' or 'OnDelete'",
      ],
    ],
    [
      { updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } },
      [
        "spec.updateStrategy.rollingUpdate: Invalid value: apps.RollingUpdateStatefulSetStrategy{Partition:1, MaxUnavailable:(*intstr.IntOrString)(nil)}: only allowed for updateStrategy 'RollingUpdate'",
      ],
    ],
    [
      { updateStrategy: { rollingUpdate: { partition: -1, maxUnavailable: 0 } } },
      [`spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: ${NEGATIVE}`],
    ],
    [
      {
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'A' },
        replicas: -1,
        minReadySeconds: -1,
        ordinals: { start: -1 },
      },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "A": supported values: "Retain", "Delete"',
        `spec.replicas: Invalid value: -1: ${NEGATIVE}`,
        `spec.minReadySeconds: Invalid value: -1: ${NEGATIVE}`,
        `spec.ordinals.start: Invalid value: -1: ${NEGATIVE}`,
      ],
    ],
    [{ selector: {} }, [`spec.selector: Invalid value: ${GO_SELECTOR}: empty selector is invalid for statefulset`]],
    [
      { selector: { matchLabels: { 'a b': 'c' } } },
      [
        'spec.selector.matchLabels: Invalid value: "a b": name part must…',
        'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a b":"c"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}',
      ],
    ],
  ]);
  assert.deepEqual(
    changeRefusals(object('StatefulSet', {}), object('StatefulSet', { serviceName: 'x', replicas: 3 })),
    [
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ],
  );
  const set = (status: JsonObject): JsonObject => ({ ...object('StatefulSet', {}), status });
  assert.deepEqual(changeRefusals(set({}), set({ replicas: 0, availableReplicas: 1 }), 'status'), [
    'status.availableReplicas: Invalid value: 1: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas',
  ]);
});

test('stateful sets: maxUnavailable of a rolling update is dropped', () => {
  const wish = { updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } };
  const strategy = (value: unknown): unknown => (value as { spec: { updateStrategy: unknown } }).spec.updateStrategy;
  const plain = { type: 'RollingUpdate', rollingUpdate: { partition: 0 } };
  assert.deepEqual(strategy(stored(object('StatefulSet', wish))), plain);
  assert.deepEqual(strategy(replaced(object('StatefulSet', {}), object('StatefulSet', wish))), plain);
});

test('stateful sets: defaults of a rolling update without parameters', () => {
  const strategy = (updateStrategy: JsonObject): unknown =>
    (stored(object('StatefulSet', { updateStrategy })) as { spec?: { updateStrategy: unknown } }).spec?.updateStrategy;
  const whole = { type: 'RollingUpdate', rollingUpdate: { partition: 0 } };
  assert.deepEqual(strategy({}), whole);
  assert.deepEqual(strategy({ type: 'RollingUpdate', rollingUpdate: {} }), whole);
  assert.deepEqual(strategy({ type: 'RollingUpdate' }), { type: 'RollingUpdate' });
  assert.deepEqual(strategy({ type: 'OnDelete' }), { type: 'OnDelete' });
});

test('daemon sets: refused fields', () => {
  const rolling = (rollingUpdate: JsonObject): JsonObject => ({ updateStrategy: { rollingUpdate } });
  check('DaemonSet', [
    [{ selector: null }, [MISMATCH('map[string]string{"app":"a"}')]],
    [{ selector: {} }, [`spec.selector: Invalid value: ${GO_SELECTOR}: empty selector is invalid for daemonset`]],
    [
      { updateStrategy: { type: 'Foo' } },
      [
        'spec.updateStrategy: Unsupported value: apps.DaemonSetUpdateStrategy{Type:"Foo", RollingUpdate:(*apps.RollingUpdateDaemonSet)(nil)}: supported values: "RollingUpdate", "OnDelete"',
      ],
    ],
    [
      rolling({ maxUnavailable: 0 }),
      ['spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0'],
    ],
    [
      rolling({ maxUnavailable: 1, maxSurge: '200%' }),
      [
        'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"200%"}: must not be greater than 100%',
        'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"200%"}: may not be set when maxUnavailable is non-zero',
      ],
    ],
    [
      { template: template({ restartPolicy: 'OnFailure', activeDeadlineSeconds: 3 }) },
      [ALWAYS('OnFailure'), NO_DEADLINE('DaemonSet')],
    ],
    [{ template: template({ volumes: [{ name: 'd', gcePersistentDisk: { pdName: 'd' } }] }) }, []],
    [
      { minReadySeconds: -1, revisionHistoryLimit: -1 },
      [
        `spec.minReadySeconds: Invalid value: -1: ${NEGATIVE}`,
        `spec.revisionHistoryLimit: Invalid value: -1: ${NEGATIVE}`,
      ],
    ],
  ]);
  const twice = `spec.minReadySeconds: Invalid value: -1: ${NEGATIVE}`;
  assert.deepEqual(changeRefusals(object('DaemonSet', {}), object('DaemonSet', { minReadySeconds: -1 })), [
    twice,
    twice,
  ]);
});

test('daemon sets: the template generation continues from the given value', () => {
  const KEY = 'deprecated.daemonset.template.generation';
  const noted = (count?: string, template_ = template()): JsonObject =>
    object('DaemonSet', { template: template_ }, count === undefined ? {} : { annotations: { [KEY]: count } });
  const count = (set: { metadata: { annotations?: Record<string, string> } }): unknown =>
    set.metadata.annotations?.[KEY];
  for (const [given, kept] of [
    [undefined, '1'],
    ['0', '1'],
    ['-3', '1'],
    ['five', '1'],
    ['5', '5'],
  ] as const) {
    assert.equal(count(stored(noted(given))), kept, given);
  }
  assert.equal(count(replaced(noted('5'), noted('9'))), '5');
  assert.equal(count(replaced(noted('5'), noted('9', template({ hostNetwork: true })))), '6');
});

test('controller revisions: refused fields', () => {
  const revision = (rest: JsonObject): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: { name: 'x', namespace: 'n' },
    ...rest,
  });
  assert.deepEqual(refusals(revision({ revision: -1 })), [
    'data: Required value: data is mandatory',
    `revision: Invalid value: -1: ${NEGATIVE}`,
  ]);
  assert.deepEqual(row(revision({ revision: 3, data: {} })), {
    Name: 'x',
    Controller: '<none>',
    Revision: 3,
    Age: '<unknown>',
  });
});

test('tables of sets without a status', () => {
  const wide = { Containers: 'c', Images: 'i' };
  assert.deepEqual(row(object('Deployment', {})), {
    Name: 'x',
    Ready: '0/1',
    'Up-to-date': 0,
    Available: 0,
    Age: '<unknown>',
    ...wide,
    Selector: 'app=a',
  });
  assert.deepEqual(row(object('ReplicaSet', {})), {
    Name: 'x',
    Desired: 1,
    Current: 0,
    Ready: 0,
    Age: '<unknown>',
    ...wide,
    Selector: 'app=a',
  });
  assert.deepEqual(row(object('StatefulSet', {})), { Name: 'x', Ready: '0/1', Age: '<unknown>', ...wide });
  assert.deepEqual(row(object('DaemonSet', {})), {
    Name: 'x',
    Desired: 0,
    Current: 0,
    Ready: 0,
    'Up-to-date': 0,
    Available: 0,
    'Node Selector': '<none>',
    Age: '<unknown>',
    ...wide,
    Selector: 'app=a',
  });
});
