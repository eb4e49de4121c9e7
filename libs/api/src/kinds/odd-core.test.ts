import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, replaced, row, stored } from './testing.ts';

const object = (kind: string, rest: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', ...(['Node', 'Namespace'].includes(kind) ? {} : { namespace: 'n' }), ...metadata },
  ...rest,
});
type Case = readonly [document: JsonObject, errors: readonly string[]];
const check = (cases: readonly Case[]): void => {
  for (const [document, errors] of cases) compareTexts(refusals(document), errors, JSON.stringify(document));
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const fieldsOf = (value: unknown, key: string): JsonObject => (value as Record<string, JsonObject>)[key] ?? {};

test('metadata of every kind', () => {
  const map = (metadata: JsonObject): JsonObject => object('ConfigMap', {}, metadata);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };
  check([
    [map({ name: 'A' }), ['metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain…']],
    [map({ name: '' }), ['metadata.name: Required value: name or generateName is required']],
    [map({ namespace: 'A' }), ['metadata.namespace: Invalid value: "A": a lowercase RFC 1123 label…']],
    [map({ generateName: 'A-b-' }), ['metadata.generateName: Invalid value: "A-b-": a lowercase RFC 1123 subdomain…']],
    [
      map({ labels: { 'a/b/c': 'x', ok: 'a b' } }),
      [
        'metadata.labels: Invalid value: "a/b/c": a qualified name must consist…',
        'metadata.labels: Invalid value: "a b": a valid label…',
      ],
    ],
    [map({ annotations: { 'A B': '' } }), ['metadata.annotations: Invalid value: "A B": name part must consist…']],
    [
      map({ ownerReferences: [{ apiVersion: 'a/', kind: '', name: '', uid: '' }] }),
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": kind must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": name must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
      ],
    ],
    [
      map({ ownerReferences: [{ ...owner, apiVersion: 'a/b/c' }] }),
      ['metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
    ],
    [
      map({ ownerReferences: [owner, { ...owner, name: 'q' }] }),
      ['metadata.ownerReferences: Invalid value: []v1.OwnerReference{v1.OwnerReference{APIVersion:"v1", Kind:"Pod"…'],
    ],
    [
      map({ finalizers: ['a b', 'x'] }),
      [
        'metadata.finalizers: Invalid value: "a b": name part must consist…',
        'metadata.finalizers[0]: Invalid value: "a b": name is neither a standard finalizer name nor is it fully qualified',
        'metadata.finalizers[1]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      map({ finalizers: ['orphan', 'foregroundDeletion'] }),
      [
        'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
  ]);
});

test('config maps and secrets', () => {
  const secret = (type: string, data: JsonObject, metadata: JsonObject = {}): JsonObject =>
    object('Secret', { type, data }, metadata);
  const big = 'x'.repeat(1024 * 1024 + 1);
  check([
    [
      object('ConfigMap', { data: { 'a b': '', same: '' }, binaryData: { same: '' } }),
      [
        'data[a b]: Invalid value: "a b": a valid config key must consist…',
        'data[same]: Invalid value: "same": duplicate of key present in binaryData',
      ],
    ],
    [object('ConfigMap', { data: { constructor: '', toString: '' }, binaryData: { valueOf: '' } }), []],
    [object('ConfigMap', { data: { big } }), ['[]: Too long: may not be more than 1048576 bytes']],
    [secret('Opaque', { '..': '' }), [`data[..]: Invalid value: "..": must not be '..'`]],
    [secret('Opaque', { big: base64(big) }), ['data: Too long: may not be more than 1048576 bytes']],
    [
      secret('kubernetes.io/service-account-token', {}),
      ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    ],
    [secret('kubernetes.io/dockerconfigjson', {}), ['data[.dockerconfigjson]: Required value']],
    [
      secret('kubernetes.io/dockerconfigjson', { '.dockerconfigjson': base64('[]') }),
      [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    [
      secret('kubernetes.io/dockercfg', { '.dockercfg': base64('x') }),
      [
        `data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 'x' looking for beginning of value`,
      ],
    ],
    [secret('kubernetes.io/basic-auth', {}), ['data[username]: Required value', 'data[password]: Required value']],
    [secret('kubernetes.io/ssh-auth', {}), ['data[ssh-privatekey]: Required value']],
    [secret('kubernetes.io/tls', {}), ['data[tls.crt]: Required value', 'data[tls.key]: Required value']],
  ]);
  const fixed = 'Forbidden: field is immutable when `immutable` is set';
  assert.deepEqual(
    changeRefusals(secret('a', { k: base64('1') }), { ...secret('b', { k: base64('2') }), immutable: true }),
    ['type: Invalid value: "b": field is immutable'],
  );
  const kept = object('ConfigMap', { data: { a: '1' }, immutable: true });
  assert.deepEqual(changeRefusals(kept, object('ConfigMap', { binaryData: { a: base64('2') } })), [
    `immutable: ${fixed}`,
    `data: ${fixed}`,
    `binaryData: ${fixed}`,
  ]);
  assert.equal(fieldsOf({ secret: replaced(secret('a', {}), object('Secret')) }, 'secret')['type'], 'Opaque');
});

const ALPHA = 'scheduler.alpha.kubernetes.io/';
const AVOID = '{"preferAvoidPods":[{},{"podSignature":{"podController":{"controller":false}}}]}';

test('annotations with arbitrary JSON cause no failure', () => {
  const values = ['5', '"x"', 'null', '[]', '{}', '[5]', '[null]', '[{"key":5,"effect":null,"operator":{}}]', '{"a":'];
  const nested = values.flatMap((value) => [
    value,
    `{"preferAvoidPods":${value}}`,
    `{"preferAvoidPods":[{"podSignature":${value}},{"podSignature":{"podController":${value}}}]}`,
  ]);
  for (const value of nested) {
    const annotations = {
      [`${ALPHA}taints`]: value,
      [`${ALPHA}preferAvoidPods`]: value,
      [`${ALPHA}tolerations`]: value,
    };
    assert.ok(Array.isArray(refusals(object('Node', {}, { annotations }))), value);
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    assert.ok(Array.isArray(refusals(object('Pod', { spec }, { annotations }))), value);
  }
});

test('nodes', () => {
  const node = (spec: JsonObject, status: JsonObject = {}): JsonObject => object('Node', { spec, status });
  const T = 'metadata.taints';
  const CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
  check([
    [
      object('Node', {}, { annotations: { [`${ALPHA}taints`]: '[{"key":"k"}]', [`${ALPHA}preferAvoidPods`]: '[]' } }),
      [
        `metadata.annotations.${ALPHA}taints[0].effect: Required value`,
        `metadata.annotations.AvoidPods: Invalid value: "${ALPHA}preferAvoidPods": json: cannot unmarshal array into Go value of type v1.AvoidPods`,
      ],
    ],
    [
      object('Node', {}, { annotations: { [`${ALPHA}taints`]: '{}', [`${ALPHA}preferAvoidPods`]: AVOID } }),
      [
        `metadata.annotations: Invalid value: "${ALPHA}taints": json: cannot unmarshal object into Go value of type []core.Taint`,
        `metadata.annotations.${ALPHA}preferAvoidPods[0].PodSignature: Required value`,
        `metadata.annotations.${ALPHA}preferAvoidPods[1].PodSignature.PodController.Controller: Invalid value: false: must point to a controller`,
      ],
    ],
    [
      node({
        taints: [
          { key: '', value: 'a b', effect: '' },
          { key: 'k', effect: 'X' },
        ],
      }),
      [
        `${T}[0].key: Invalid value: "": name part must be non-empty`,
        `${T}[0].key: Invalid value: "": name part must consist…`,
        `${T}[0].value: Invalid value: "a b": a valid label…`,
        `${T}[0].effect: Required value`,
        `${T}[1].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
      ],
    ],
    [
      node({ taints: [taint, taint] }),
      [
        `${T}[1]: Duplicate value: core.Taint{Key:"k", Value:"v", Effect:"NoSchedule", TimeAdded:<nil>}: taints must be unique by key and effect pair`,
      ],
    ],
    [
      node({ podCIDRs: ['x', '10.0.0.0/8', '10.0.0.0/8'] }),
      [
        `spec.podCIDRs[0]: Invalid value: "x": ${CIDR}`,
        'spec.podCIDRs: Invalid value: []string{"x", "10.0.0.0/8", "10.0.0.0/8"}: may specify no more than one CIDR for each IP family',
        'spec.podCIDRs[2]: Duplicate value: "10.0.0.0/8"',
      ],
    ],
    [
      node({}, { capacity: { cpu: '-1' } }),
      [
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
  ]);
  const dual = { podCIDRs: ['10.0.0.0/24', 'fd00::/64'], providerID: 'a', externalID: 'e' };
  const pod = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid';
  assert.deepEqual(changeRefusals(node(dual), node({ podCIDRs: ['10.1.0.0/24', 'fd01::/64'], providerID: 'b' })), [
    pod,
    pod,
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    'spec.externalID: Forbidden: may not be updated',
  ]);
  const twoForms = { podCIDR: '10.1.0.0/24', podCIDRs: ['10.0.0.0/24', 'fd00::/64'] };
  assert.deepEqual(fieldsOf(stored(node(twoForms)), 'spec')['podCIDRs'], ['10.1.0.0/24']);
  assert.deepEqual(changeRefusals(node({ podCIDR: '10.0.0.0/24' }), node({ ...twoForms, podCIDRs: ['10.0.0.0/24'] })), [
    pod,
  ]);
  const wrong = `${T}[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`;
  assert.deepEqual(changeRefusals(node({}), node({ taints: [{ key: 'k', effect: 'X' }] })), [wrong, wrong]);
  const address = { type: 'InternalIP', address: '1.1.1.1' };
  assert.deepEqual(changeRefusals(node({}), node({}, { addresses: [address, address] }), 'status'), [
    'status.addresses[1]: Duplicate value: core.NodeAddress{Type:"InternalIP", Address:"1.1.1.1"}',
  ]);
  const made = stored(node({ configSource: { configMap: {} } }, { config: {} }));
  assert.equal(fieldsOf(made, 'spec')['configSource'], undefined);
});

test('tables of nodes', () => {
  const node = (conditions: JsonObject[], spec: JsonObject = {}, metadata: JsonObject = {}): string => {
    const cells = row(object('Node', { spec, status: { conditions } }, metadata));
    return ['Status', 'Roles', 'Internal-IP', 'OS-Image'].map((name) => String(cells[name])).join(' ');
  };
  const ready = (status: string): JsonObject[] => [{ type: 'Ready', status }];
  assert.equal(node([]), 'Unknown <none> <none> <unknown>');
  assert.equal(node(ready('True')), 'Ready <none> <none> <unknown>');
  assert.equal(node(ready('Unknown'), { unschedulable: true }), 'NotReady,SchedulingDisabled <none> <none> <unknown>');
  const labels = {
    'node-role.kubernetes.io/b': '',
    'node-role.kubernetes.io/a': '',
    'kubernetes.io/role': 'c',
    'node-role.kubernetes.io/': '',
  };
  assert.equal(node(ready('False'), {}, { labels }), 'NotReady a,b,c <none> <unknown>');
});

test('namespaces', () => {
  const namespace = (rest: JsonObject = {}, metadata: JsonObject = {}): JsonObject =>
    object('Namespace', rest, metadata);
  const standard = 'name is neither a standard finalizer name nor is it fully qualified';
  check([
    [namespace({}, { name: 'a.b' }), ['metadata.name: Invalid value: "a.b": must not contain dots']],
    [namespace({ spec: { finalizers: ['x'] } }), [`spec.finalizers: Invalid value: "x": ${standard}`]],
  ]);
  assert.deepEqual(changeRefusals(namespace(), namespace({ spec: { finalizers: ['x'] } }), 'finalize'), [
    `spec.finalizers[0]: Invalid value: "x": ${standard}`,
  ]);
  assert.deepEqual(changeRefusals(namespace(), namespace({ status: { phase: 'Terminating' } }), 'status'), [
    `status.Phase: Invalid value: "Terminating": may only be 'Active' if \`deletionTimestamp\` is empty`,
  ]);
  const bad = 'metadata.labels: Invalid value: "a b": a valid label…';
  compareTexts(changeRefusals(namespace(), namespace({}, { labels: { a: 'a b' } })), [bad, bad], 'twice');
});

test('a service account keeps only the names of its secrets', () => {
  const account = object('ServiceAccount', { secrets: [{ kind: 'Secret', namespace: 'm', name: 'a' }, { uid: 'u' }] });
  const secrets = (made: unknown): unknown => (made as { secrets: unknown }).secrets;
  assert.deepEqual(secrets(stored(account)), [{ name: 'a' }, {}]);
  assert.deepEqual(secrets(replaced(object('ServiceAccount'), account)), [{ name: 'a' }, {}]);
});

test('quotas', () => {
  const quota = (spec: JsonObject): JsonObject => object('ResourceQuota', { spec });
  const S = 'spec.scopes';
  const M = 'spec.scopeSelector.matchExpressions';
  const selector = (...matchExpressions: JsonObject[]): JsonObject => quota({ scopeSelector: { matchExpressions } });
  check([
    [
      quota({ hard: { x: '1', 'a b': '1', pods: '500m', cpu: '-1' } }),
      [
        'spec.hard[a b]: Invalid value: a b: name part must consist…',
        'spec.hard[a b]: Invalid value: a b: must be a standard resource for quota',
        'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        'spec.hard[pods]: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}…',
        'spec.hard[x]: Invalid value: x: must be a standard resource type or fully qualified',
        'spec.hard[x]: Invalid value: x: must be a standard resource for quota',
      ],
    ],
    [
      quota({ scopes: ['X', 'BestEffort', 'NotBestEffort'], hard: { cpu: '1' } }),
      [
        `${S}: Invalid value: []core.ResourceQuotaScope{"X", "BestEffort", "NotBestEffort"}: unsupported scope`,
        `${S}: Invalid value: []core.ResourceQuotaScope{"X", "BestEffort", "NotBestEffort"}: unsupported scope applied to resource`,
        `${S}: Invalid value: []core.ResourceQuotaScope{"X", "BestEffort", "NotBestEffort"}: conflicting scopes`,
      ],
    ],
    [
      selector(
        { scopeName: 'Terminating', operator: 'In', values: [] },
        { scopeName: 'PriorityClass', operator: 'Exists', values: ['a'] },
      ),
      [
        `${M}.operator: Invalid value: "In": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
        `${M}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
        `${M}.values: Invalid value: []string{"a"}: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
      ],
    ],
    [
      selector({ scopeName: 'PriorityClass', operator: 'X' }),
      [`${M}.operator: Invalid value: "X": not a valid selector operator`],
    ],
  ]);
  assert.deepEqual(changeRefusals(quota({ scopes: ['BestEffort'] }), quota({})), [
    `${S}: Invalid value: []core.ResourceQuotaScope(nil): field is immutable`,
  ]);
  const used = row({ ...quota({}), status: { hard: { 'limits.cpu': '2', pods: '1', cpu: '1' }, used: { pods: '1' } } });
  assert.deepEqual(Object.keys(used), ['Name', 'Age', 'Request', 'Limit']);
  assert.deepEqual([used['Request'], used['Limit']], ['cpu: 0/1, pods: 1/1', 'limits.cpu: 0/2']);
});

test('limit ranges', () => {
  const range = (...limits: JsonObject[]): JsonObject => object('LimitRange', { spec: { limits } });
  const L = 'spec.limits[0]';
  const amount = (value: number): string =>
    `resource.Quantity{i:resource.int64Amount{value:${value}, scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"", Format:"DecimalSI"}`;
  check([
    [
      range({ type: 'X' }, { type: 'Pod', default: { cpu: '1' } }, { type: 'Pod', max: { storage: '1' } }),
      [
        `${L}.type: Invalid value: "X": must be a standard limit type or fully qualified`,
        `spec.limits[1].default: Forbidden: may not be specified when \`type\` is 'Pod'`,
        'spec.limits[2].type: Duplicate value: "Pod"',
        'spec.limits[2].max[storage]: Invalid value: storage: must be a standard resource for containers',
      ],
    ],
    [
      range({ type: 'Pod', max: { cpu: '1' }, min: { cpu: '2' } }),
      [`${L}.min[cpu]: Invalid value: ${amount(2)}: min value 2 is greater than max value 1`],
    ],
    [
      range({ type: 'PersistentVolumeClaim', max: { pods: '1' } }),
      [`${L}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`],
    ],
    [
      range({ type: 'Pod', max: { cpu: '4' }, min: { cpu: '1' }, maxLimitRequestRatio: { cpu: '5' } }),
      [`${L}.maxLimitRequestRatio[cpu]: Invalid value: ${amount(5)}: ratio 5 is greater than max/min = 4.000000`],
    ],
    [
      range({ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '2' } }),
      [
        `${L}.defaultRequest[cpu]: Invalid value: ${amount(2)}: default request value 2 is greater than default limit value 1`,
      ],
    ],
  ]);
  const [item = {}] = fieldsOf(stored(range({ type: 'Container', max: { cpu: '2' }, min: { memory: '1Mi' } })), 'spec')[
    'limits'
  ] as readonly JsonObject[];
  assert.deepEqual([item['default'], item['defaultRequest']], [{ cpu: '2' }, { cpu: '2', memory: '1Mi' }]);
  const bare = range({ type: 'Container', maxLimitRequestRatio: { cpu: '2' } });
  assert.deepEqual(fieldsOf(stored(bare), 'spec'), bare['spec']);
  check([[object('LimitRange', { spec: {} }), []]]);
  assert.deepEqual(fieldsOf(stored(object('LimitRange')), 'spec'), { limits: null });
});

test('replication controllers', () => {
  const controller = (spec: JsonObject): JsonObject => object('ReplicationController', { spec });
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  check([
    [
      controller({ replicas: -1, minReadySeconds: -1 }),
      [
        'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
        'spec.selector: Required value',
        'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
        'spec.template: Required value',
      ],
    ],
    [
      controller({
        selector: { a: 'c' },
        template: { ...template, spec: { ...template.spec, restartPolicy: 'Never', activeDeadlineSeconds: 1 } },
      }),
      [
        'spec.template.metadata.labels: Invalid value: map[string]string{"a":"b"}: `selector` does not match template `labels`',
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported',
      ],
    ],
  ]);
  const made = stored(controller({ template }));
  assert.deepEqual([fieldsOf(made, 'spec')['selector'], made.metadata.labels], [{ a: 'b' }, { a: 'b' }]);
  const negative = 'spec.replicas: Invalid value: -1: must be greater than or equal to 0';
  assert.deepEqual(changeRefusals(controller({ template }), controller({ template, replicas: -1 })), [
    negative,
    negative,
  ]);
  assert.deepEqual(
    changeRefusals(
      controller({ template }),
      { ...controller({ template }), status: { replicas: 1, readyReplicas: 2 } },
      'status',
    ),
    ['status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas'],
  );
});

test('events', () => {
  const event = (rest: JsonObject, metadata: JsonObject = {}): JsonObject =>
    object('Event', { involvedObject: { namespace: 'n' }, ...rest }, metadata);
  const E = 'involvedObject.namespace: Invalid value: "other": does not match event.namespace';
  check([
    [event({ involvedObject: { namespace: 'other' } }), [E]],
    [
      event({
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingComponent: 'a b',
        reportingInstance: 'x'.repeat(129),
      }),
      [
        'reportingComponent: Invalid value: "a b": name part must consist…',
        'reportingInstance: Invalid value: "": can have at most 128 characters',
        'action: Required value',
        'reason: Required value',
      ],
    ],
  ]);
  const shown = row(
    event({
      involvedObject: { kind: 'Pod', name: 'p' },
      message: ' m ',
      source: { component: 'c', host: 'h' },
      type: 'Normal',
    }),
  );
  assert.deepEqual([shown['Object'], shown['Message'], shown['Source'], shown['Count']], ['pod/p', 'm', 'c, h', 1]);
  const repeated = row(event({ lastTimestamp: '2023-11-14T22:13:00Z', series: { count: 3 } }));
  assert.deepEqual([repeated['Last Seen'], repeated['Count']], ['<unknown>', 3]);
});
