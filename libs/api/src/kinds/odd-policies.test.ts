import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, row, stored } from './testing.ts';

type Case = readonly [document: JsonObject, errors: readonly string[]];
const check = (cases: readonly Case[]): void => {
  for (const [document, errors] of cases) compareTexts(refusals(document), errors, JSON.stringify(document));
};
const namespaced = (apiVersion: string, kind: string, spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x', namespace: 'n', ...metadata },
  spec,
});
const NEGATIVE = 'must be greater than or equal to 0';

const scaler = (spec: JsonObject): JsonObject =>
  namespaced('autoscaling/v2', 'HorizontalPodAutoscaler', {
    scaleTargetRef: { kind: 'Deployment', name: 'd' },
    maxReplicas: 3,
    ...spec,
  });
const metric = (value: JsonObject): JsonObject => scaler({ metrics: [value] });
const M = 'spec.metrics[0]';
const TYPES = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"';

test('scalers: a metric without its source is reported', () => {
  const NO_METRIC = 'metric.name: Required value: must specify a metric name';
  const target = { type: 'Value', averageValue: '1' };
  for (const [type, field, errors] of [
    ['Resource', 'resource', ['name: Required value: must specify a resource name']],
    [
      'ContainerResource',
      'containerResource',
      ['name: Required value: must specify a resource name', 'container: Required value: must specify a container'],
    ],
    ['Pods', 'pods', [NO_METRIC]],
    ['External', 'external', [NO_METRIC]],
    ['Object', 'object', ['describedObject.kind: Required value', 'describedObject.name: Required value', NO_METRIC]],
  ] as const) {
    assert.deepEqual(
      refusals(metric({ type, [field]: { target } })),
      errors.map((error) => `${M}.${field}.${error}`),
      type,
    );
  }
});

test('scalers: refused fields', () => {
  const target = (value: JsonObject): JsonObject =>
    metric({ type: 'Resource', resource: { name: 'cpu', target: value } });
  const ofContainer = (container: string, name: string): JsonObject =>
    metric({
      type: 'ContainerResource',
      containerResource: { name, container, target: { type: 'Utilization', averageUtilization: 1 } },
    });
  const behavior = (scaleUp: JsonObject): JsonObject => scaler({ behavior: { scaleUp } });
  const UP = 'spec.behavior.scaleUp';
  check([
    [
      scaler({ minReplicas: 0, maxReplicas: 0 }),
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.maxReplicas: Invalid value: 0: must be greater than 0',
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    ],
    [
      scaler({ minReplicas: 0, metrics: [{ type: 'External' }] }),
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        `${M}.external: Required value: must populate information for the given metric source`,
      ],
    ],
    [
      ofContainer('C', 'x'),
      [
        `${M}.containerResource.name: Invalid value: x: must be a standard resource type or fully qualified`,
        `${M}.containerResource.name: Invalid value: x: must be a standard resource for containers`,
        `${M}.containerResource.container: Invalid value: "C": a lowercase RFC 1123 label…`,
      ],
    ],
    [
      ofContainer('', ''),
      [
        `${M}.containerResource.name: Required value: must specify a resource name`,
        `${M}.containerResource.container: Required value: must specify a container`,
      ],
    ],
    [
      scaler({ minReplicas: 4 }),
      ['spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`'],
    ],
    [
      scaler({ scaleTargetRef: {} }),
      ['spec.scaleTargetRef.kind: Required value', 'spec.scaleTargetRef.name: Required value'],
    ],
    [
      scaler({ scaleTargetRef: { kind: '..', name: 'a/b%' } }),
      [
        'spec.scaleTargetRef.kind: Invalid value: "..": may not be \'..\'',
        'spec.scaleTargetRef.name: Invalid value: "a/b%": may not contain \'/\'',
        'spec.scaleTargetRef.name: Invalid value: "a/b%": may not contain \'%\'',
      ],
    ],
    [
      metric({}),
      [
        `${M}.type: Required value: must specify a metric source type`,
        `${M}.type: Unsupported value: "": ${TYPES}`,
        `${M}.type: Unsupported value: "": ${TYPES}`,
      ],
    ],
    [metric({ type: 'Pods' }), [`${M}.pods: Required value: must populate information for the given metric source`]],
    [
      metric({
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 1 } },
        pods: { metric: {}, target: {} },
      }),
      [
        `${M}.pods.metric.name: Required value: must specify a metric name`,
        `${M}.pods.target.type: Required value: must specify a metric target type`,
        `${M}.pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue`,
        `${M}.pods.target.averageValue: Required value: must specify a positive target averageValue`,
        `${M}.pods: Forbidden: must populate the given metric source only`,
      ],
    ],
    [
      target({ type: 'Utilization' }),
      [
        `${M}.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization`,
      ],
    ],
    [
      target({ type: 'A', averageUtilization: 0, averageValue: '1' }),
      [
        `${M}.resource.target.type: Invalid value: "A": must be either Utilization, Value, or AverageValue`,
        `${M}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0`,
        `${M}.resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization`,
      ],
    ],
    [
      metric({
        type: 'ContainerResource',
        containerResource: { name: '', container: '', target: { type: 'Utilization', averageUtilization: 1 } },
      }),
      [
        `${M}.containerResource.name: Required value: must specify a resource name`,
        `${M}.containerResource.container: Required value: must specify a container`,
      ],
    ],
    [
      metric({
        type: 'Object',
        object: { describedObject: { kind: 'A', name: 'b' }, metric: { name: 'm' }, target: { type: 'Value' } },
      }),
      [`${M}.object.target.averageValue: Required value: must set either a target value or averageValue`],
    ],
    [
      metric({
        type: 'External',
        external: { metric: { name: 'm' }, target: { type: 'Value', value: '1', averageValue: '1' } },
      }),
      [`${M}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target`],
    ],
    [
      metric({ type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value' } } }),
      [
        `${M}.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target`,
      ],
    ],
    [
      metric({
        type: 'Pods',
        pods: {
          metric: { name: 'm', selector: { matchLabels: { 'a b': 'c' } } },
          target: { type: 'AverageValue', averageValue: '0' },
        },
      }),
      [`${M}.pods.target.averageValue: Invalid value: resource.Quantity{…`],
    ],
    [
      behavior({ stabilizationWindowSeconds: -1, selectPolicy: 'A' }),
      [
        `${UP}.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero`,
        `${UP}.selectPolicy: Unsupported value: "A": supported values: "Disabled", "Max", "Min"`,
      ],
    ],
    [
      behavior({ stabilizationWindowSeconds: 3601, policies: [{ type: 'A', value: 0, periodSeconds: 1801 }] }),
      [
        `${UP}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600`,
        `${UP}.policies[0].type: Unsupported value: "A": supported values: "Percent", "Pods"`,
        `${UP}.policies[0].value: Invalid value: 0: must be greater than zero`,
        `${UP}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800`,
      ],
    ],
  ]);
  const before = scaler({});
  assert.deepEqual(
    changeRefusals(before, { ...before, status: { currentReplicas: -1, desiredReplicas: -1 } }, 'status'),
    [
      `status.currentReplicas: Invalid value: -1: ${NEGATIVE}`,
      `status.desiredReplicas: Invalid value: -1: ${NEGATIVE}`,
    ],
  );
});

test('scalers: a table without measurements', () => {
  const targets = (value: JsonObject): unknown => row(value)['Targets'];
  assert.equal(targets(scaler({})), 'cpu: <unknown>/80%');
  const pods = { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '5' } } };
  assert.equal(targets(scaler({ metrics: [pods] })), '<unknown>/5');
  const external = { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '5' } };
  assert.equal(targets(scaler({ metrics: [{ type: 'External', external }] })), '<unknown>/5 (avg)');
  assert.equal(targets(scaler({ metrics: [pods, pods, pods] })), '<unknown>/5, <unknown>/5 + 1 more...');
});

test('disruption budgets: the name may be any path segment, and is checked last', () => {
  const budget = (spec: JsonObject, name = 'x'): JsonObject =>
    namespaced('policy/v1', 'PodDisruptionBudget', spec, { name });
  check([
    [budget({}, 'Not A Name'), []],
    [budget({}, 'a%'), ['metadata.name: Invalid value: "a%": may not contain \'%\'']],
    [budget({ minAvailable: -1 }, 'a%'), [`spec.minAvailable: Invalid value: -1: ${NEGATIVE}`]],
    [
      budget({ minAvailable: 1, maxUnavailable: '101%' }),
      [
        'spec: Invalid value: policy.PodDisruptionBudgetSpec{MinAvailable:(*intstr.IntOrString)(0x…',
        'spec.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
      ],
    ],
    [
      budget({ unhealthyPodEvictionPolicy: 'A', selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
      [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        'spec.unhealthyPodEvictionPolicy: Unsupported value: "A": supported values: "AlwaysAllow", "IfHealthyBudget"',
      ],
    ],
  ]);
  const status = {
    disruptionsAllowed: -1,
    conditions: [
      { type: 'a b', status: 'x', reason: '' },
      { type: 'a b', status: 'True', reason: '-' },
    ],
  };
  compareTexts(
    changeRefusals(budget({}), { ...budget({}), status }, 'status'),
    [
      'status.conditions[0].type: Invalid value: "a b": name part must…',
      'status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"',
      'status.conditions[0].lastTransitionTime: Required value: must be set',
      'status.conditions[0].reason: Required value: must be set',
      'status.conditions[1].type: Duplicate value: "a b"',
      'status.conditions[1].type: Invalid value: "a b": name part must…',
      'status.conditions[1].lastTransitionTime: Required value: must be set',
      'status.conditions[1].reason: Invalid value: "-": a condition reason must start with alphabetic character…',
      `status.disruptionsAllowed: Invalid value: -1: ${NEGATIVE}`,
    ],
    'conditions',
  );
  assert.deepEqual(row(budget({ minAvailable: '50%' })), {
    Name: 'x',
    'Min Available': '50%',
    'Max Unavailable': 'N/A',
    'Allowed Disruptions': 0,
    Age: '<unknown>',
  });
});

test('priority classes: what is refused', () => {
  const priority = (rest: JsonObject, name = 'x'): JsonObject => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    ...rest,
  });
  const reserved =
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error:";
  check([
    [
      priority({ value: 1_000_000_001 }),
      ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
    ],
    [
      priority({ value: 1, preemptionPolicy: 'A' }),
      ['preemptionPolicy: Unsupported value: "A": supported values: "PreemptLowerPriority", "Never"'],
    ],
    [priority({ value: 1, preemptionPolicy: '' }), ['preemptionPolicy: Required value']],
    [priority({ value: 1 }, 'system-x'), [`${reserved} system-x is not a known system priority class`]],
    [
      priority({ value: 1 }, 'system-node-critical'),
      [`${reserved} value of system-node-critical PriorityClass must be 2000001000`],
    ],
    [
      priority({ value: 2_000_001_000, globalDefault: true }, 'system-node-critical'),
      [`${reserved} globalDefault of system-node-critical PriorityClass must be false`],
    ],
  ]);
  assert.deepEqual(changeRefusals(priority({ value: 1 }), priority({ value: 2, preemptionPolicy: 'Never' })), [
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ]);
});

test('leases: refused and dropped fields', () => {
  const lease = (spec: JsonObject): JsonObject => namespaced('coordination.k8s.io/v1', 'Lease', spec);
  check([
    [
      lease({ leaseDurationSeconds: 0, leaseTransitions: -1 }),
      [
        'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
        `spec.leaseTransitions: Invalid value: -1: ${NEGATIVE}`,
      ],
    ],
    [lease({ strategy: 'Foo', preferredHolder: 'a' }), []],
  ]);
  const kept = stored(lease({ strategy: 'Foo', preferredHolder: 'a', holderIdentity: 'h' }));
  assert.deepEqual((kept as unknown as JsonObject)['spec'], { holderIdentity: 'h' });
});
