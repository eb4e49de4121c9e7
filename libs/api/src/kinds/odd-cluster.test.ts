import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import type { CSIDriver } from '../generated/types.ts';
import { csiDriverResource } from './csi-driver/index.ts';
import {
  changeRefusals,
  compareTexts,
  refusals,
  replaced,
  row,
  statusRefusals,
  statusReplaced,
  stored,
} from './testing.ts';
import { volumeAttachmentResource } from './volume-attachment/index.ts';

type Case = readonly [document: JsonObject, errors: readonly string[]];
const check = (cases: readonly Case[]): void => {
  for (const [document, errors] of cases) compareTexts(refusals(document), errors, JSON.stringify(document));
};
const cluster = (apiVersion: string, kind: string, rest: JsonObject, name = 'x'): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...rest,
});
const storage = (kind: string, rest: JsonObject, name = 'x'): JsonObject =>
  cluster('storage.k8s.io/v1', kind, rest, name);

test('storage classes: refused fields', () => {
  const named = (rest: JsonObject): JsonObject => storage('StorageClass', { provisioner: 'a.b/c', ...rest });
  const term = (...expressions: JsonObject[]): JsonObject => ({ matchLabelExpressions: expressions });
  const zone = { key: 'zone', values: ['a', 'a'] };
  const T = 'allowedTopologies';
  check([
    [named({ provisioner: '' }), ['provisioner: Required value']],
    [named({ provisioner: 'a b' }), ['provisioner: Invalid value: "a b": name part must…']],
    [
      named({ reclaimPolicy: 'Recycle' }),
      ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    ],
    [named({ reclaimPolicy: '' }), []],
    [
      named({ volumeBindingMode: 'A' }),
      ['volumeBindingMode: Unsupported value: "A": supported values: "Immediate", "WaitForFirstConsumer"'],
    ],
    [
      named({ volumeBindingMode: '' }),
      ['volumeBindingMode: Unsupported value: "": supported values: "Immediate", "WaitForFirstConsumer"'],
    ],
    [named({ parameters: { '': 'a' } }), ['parameters: Invalid value: "": field can not be empty.']],
    [
      named({ parameters: Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`k${i}`, ''])) }),
      ['parameters: Too long: may not be more than 512 bytes'],
    ],
    [
      named({ [T]: [term(zone, { key: 'zone', values: [] })] }),
      [
        `${T}[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"`,
        `${T}[0].matchLabelExpressions[1].values: Required value`,
        `${T}[0].matchLabelExpressions[1].key: Duplicate value: "zone"`,
      ],
    ],
    [
      named({ [T]: [term({ key: 'a', values: ['1', '2'] }), term({ key: 'a', values: ['2', '1'] })] }),
      [`${T}[1].matchLabelExpressions: Duplicate value: ""`],
    ],
    [named({ [T]: [{}] }), [`${T}[0].matchLabelExpressions: Duplicate value: ""`]],
  ]);
  const changed = named({
    provisioner: 'd',
    parameters: { a: 'b' },
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  assert.deepEqual(changeRefusals(named({}), changed), [
    'parameters: Forbidden: updates to parameters are forbidden.',
    'provisioner: Forbidden: updates to provisioner are forbidden.',
    'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.',
    'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
  ]);
});

test('CSI drivers and nodes: refused fields and allowed updates', () => {
  const driver = (spec: JsonObject): JsonObject => storage('CSIDriver', { spec });
  const requests = (...tokenRequests: JsonObject[]): JsonObject => driver({ tokenRequests });
  const R = 'spec.tokenRequests';
  check([
    [driver({}), []],
    [
      driver({ fsGroupPolicy: 'A', volumeLifecycleModes: ['B'] }),
      [
        'spec.fsGroupPolicy: Unsupported value: "A": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "B": supported values: "Persistent", "Ephemeral"',
      ],
    ],
    [
      requests({ audience: 'a' }, { audience: 'a', expirationSeconds: 1 }, { audience: 'b', expirationSeconds: 2 }),
      [
        `${R}[1].audience: Duplicate value: "a"`,
        `${R}[2].expirationSeconds: Invalid value: 2: may not specify a duration less than 10 minutes`,
      ],
    ],
  ]);
  assert.equal((stored(driver({})) as unknown as { spec: JsonObject }).spec['seLinuxMount'], false);
  assert.equal(stored(driver({})).metadata.generation, undefined);
  const isCounted = (spec: JsonObject): unknown =>
    csiDriverResource.strategy.generationChanges?.(stored(driver(spec)) as CSIDriver, stored(driver({})) as CSIDriver);
  assert.deepEqual(
    [isCounted({}), isCounted({ podInfoOnMount: true }), isCounted({ fsGroupPolicy: 'None' })],
    [false, true, true],
  );
  assert.deepEqual(
    changeRefusals(
      driver({}),
      driver({
        attachRequired: false,
        volumeLifecycleModes: ['Ephemeral'],
        fsGroupPolicy: 'None',
        podInfoOnMount: true,
      }),
    ),
    [
      'spec.attachedRequired: Invalid value: false: field is immutable',
      'spec.volumeLifecycleModes: Invalid value: []storage.VolumeLifecycleMode{"Ephemeral"}: field is immutable',
    ],
  );
  const node = (...drivers: JsonObject[]): JsonObject => storage('CSINode', { spec: { drivers } });
  const D = 'spec.drivers';
  check([
    [
      node({ name: '', nodeID: '' }),
      [
        `${D}[0].name: Required value`,
        `${D}[0].name: Invalid value: "": a lowercase RFC 1123 subdomain…`,
        `${D}[0].nodeID: Required value`,
      ],
    ],
    [node({ name: 'a', nodeID: 'x'.repeat(256) }), []],
    [
      node({ name: 'a', nodeID: 'x'.repeat(257) }),
      [`${D}[0].nodeID: Invalid value: "${'x'.repeat(257)}": must be 256 characters or less`],
    ],
    [
      node(
        { name: 'a', nodeID: 'i', allocatable: { count: -1 } },
        { name: 'a', nodeID: 'i', topologyKeys: ['k', 'k'] },
      ),
      [
        `${D}[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0`,
        `${D}[1].name: Duplicate value: "a"`,
        `${D}[1]: Duplicate value: "k"`,
      ],
    ],
  ]);
  assert.deepEqual(changeRefusals(node({ name: 'a', nodeID: 'i' }), node({ name: 'a', nodeID: 'j' })), [
    'spec.drivers: Invalid value: storage.CSINodeDriver{Name:"a", NodeID:"j", TopologyKeys:[]string(nil), Allocatable:(*storage.VolumeNodeResources)(nil)}: field is immutable',
  ]);
});

test('attachments and capacities: refused fields', () => {
  const attachment = (spec: JsonObject): JsonObject => storage('VolumeAttachment', { spec });
  const good = { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } };
  check([
    [
      attachment({}),
      [
        'spec.attacher: Required value',
        'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
        'spec.nodeName: Invalid value: "": a lowercase RFC 1123 subdomain…',
        'spec.attacher: Required value',
        'spec.attacher: Invalid value: "": a lowercase RFC 1123 subdomain…',
      ],
    ],
    [
      attachment({ ...good, source: { persistentVolumeName: '' } }),
      [
        'spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName',
        'spec.source.persistentVolumeName: Invalid value: "": a lowercase RFC 1123 subdomain…',
      ],
    ],
    [
      attachment({ ...good, source: { persistentVolumeName: 'p', inlineVolumeSpec: {} } }),
      ['spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName'],
    ],
  ]);
  compareTexts(
    changeRefusals(attachment(good), attachment({ ...good, nodeName: 'm' })),
    [
      'spec: Invalid value: storage.VolumeAttachmentSpec{Attacher:"a", Source:storage.VolumeAttachmentSource{PersistentVolumeName:(*string)(0x…',
    ],
    'attachments',
  );
  const status = { attached: true, attachError: { message: 'x'.repeat(1025) } };
  const long = 'status.attachError.message: Too long: may not be more than 262144 bytes';
  assert.deepEqual(changeRefusals(attachment(good), { ...attachment(good), status }, 'status'), [long, long]);
  const capacity = (rest: JsonObject): JsonObject => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { name: 'x', namespace: 'n' },
    ...rest,
  });
  check([
    [
      capacity({ storageClassName: '', capacity: '-1' }),
      [
        'storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain…',
        'capacity: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
  ]);
  assert.deepEqual(changeRefusals(capacity({ storageClassName: 'a' }), capacity({ storageClassName: 'b' })), [
    'storageClassName: Invalid value: "b": field is immutable',
  ]);
});

test('attachments: an inline volume has no claim, no capacity and no node affinity', () => {
  const I = 'spec.source.inlineVolumeSpec';
  const NOT_INLINE = 'may not be specified in the context of inline volumes';
  const inline = (inlineVolumeSpec: JsonObject): JsonObject =>
    storage('VolumeAttachment', { spec: { attacher: 'a', nodeName: 'n', source: { inlineVolumeSpec } } });
  const csi = { driver: 'a', volumeHandle: 'h' };
  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'k', operator: 'Exists' }] }] };
  check([
    [inline({ accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain', csi }), []],
    [
      inline({}),
      [
        `${I}.csi: Required value: has to be specified in the context of inline volumes`,
        `${I}.accessModes: Required value`,
        `${I}: Required value: must specify a volume type`,
      ],
    ],
    [
      inline({
        claimRef: { name: 'c' },
        capacity: { storage: '1' },
        accessModes: ['X'],
        persistentVolumeReclaimPolicy: 'Delete',
        nodeAffinity: { required },
        local: { path: '' },
        csi,
        storageClassName: 'A',
        volumeMode: 'Block',
      }),
      [
        `${I}.claimRef: Forbidden: ${NOT_INLINE}`,
        `${I}.capacity: Forbidden: ${NOT_INLINE}`,
        `${I}.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
        `${I}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes`,
        `${I}.nodeAffinity: Forbidden: ${NOT_INLINE}`,
        `${I}.local.path: Required value`,
        `${I}.nodeAffinity: Required value: Local volume requires node affinity`,
        `${I}.csi: Forbidden: may not specify more than 1 volume type`,
        `${I}.storageClassName: Forbidden: ${NOT_INLINE}`,
        `${I}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes`,
      ],
    ],
  ]);
  const shown = JSON.stringify(stored(inline({ azureDisk: { diskName: 'd', diskURI: 'u' }, capacity: { a: '1.0' } })));
  assert.ok(shown.includes('"cachingMode":"ReadWrite"') && shown.includes('"capacity":{"a":"1"}'), shown);
});

test('attachments: their status changes no metadata', () => {
  const attachment = (metadata: JsonObject, rest: JsonObject = {}): JsonObject => ({
    ...storage('VolumeAttachment', { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } } }),
    metadata: { name: 'x', ...metadata },
    ...rest,
  });
  const before = { labels: { a: 'b' }, finalizers: ['a/b'] };
  const after = { labels: { a: 'c' }, annotations: { d: 'e' } };
  const { metadata, status } = replaced(
    attachment(before),
    attachment(after, { status: { attached: true } }),
    'status',
  ) as {
    metadata: object;
    status?: unknown;
  };
  assert.deepEqual([metadata, status], [{ name: 'x', resourceVersion: '1', ...before }, { attached: true }]);
});

test('attachments: the columns that hold names say so', () => {
  const names = volumeAttachmentResource.columns.filter(({ format }) => format === 'name').map(({ name }) => name);
  assert.deepEqual(names, ['Name', 'Attacher']);
});

test('runtime classes: refused fields', () => {
  const runtime = (rest: JsonObject): JsonObject =>
    cluster('node.k8s.io/v1', 'RuntimeClass', { handler: 'h', ...rest });
  const toleration = { key: 'a', operator: 'Exists' };
  check([
    [runtime({ handler: '' }), ['handler: Invalid value: "": a lowercase RFC 1123 label…']],
    [
      runtime({ overhead: { podFixed: { cpu: '-1' } } }),
      ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      runtime({ scheduling: { nodeSelector: { 'a b': 'c' }, tolerations: [toleration, toleration] } }),
      [
        'scheduling.nodeSelector: Invalid value: "a b": name part must…',
        'scheduling.tolerations[1]: Duplicate value: core.Toleration{Key:"a", Operator:"Exists", Value:"", Effect:"", TolerationSeconds:(*int64)(nil)}',
      ],
    ],
  ]);
  assert.deepEqual(changeRefusals(runtime({}), runtime({ handler: 'g' })), [
    'handler: Invalid value: "g": field is immutable',
  ]);
});

test('roles and bindings: an update reports every error three times', () => {
  const rbac = (kind: string, rest: JsonObject): JsonObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: 'A:b', ...(kind.startsWith('Cluster') ? {} : { namespace: 'n' }) },
    ...rest,
  });
  const ref = (kind: string, name = 'r'): JsonObject => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
  const verbs = 'rules[0].verbs: Required value: verbs must contain at least one value';
  check([
    [
      rbac('Role', { rules: [{}] }),
      [
        verbs,
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      rbac('Role', { rules: [{ verbs: ['get'], nonResourceURLs: ['/a'], resources: ['b'] }] }),
      [
        'rules[0].nonResourceURLs: Invalid value: []string{"/a"}: namespaced rules cannot apply to non-resource URLs',
        'rules[0].nonResourceURLs: Invalid value: []string{"/a"}: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
    [
      rbac('ClusterRole', { aggregationRule: {} }),
      [
        'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
      ],
    ],
    [
      rbac('ClusterRole', {
        aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'B' }] }] },
      }),
      [
        'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "B": not a valid selector operator',
        'aggregationRule.clusterRoleSelectors[0]: Invalid value: "null": invalid label selector.',
      ],
    ],
    [
      rbac('RoleBinding', {
        roleRef: {},
        subjects: [
          { kind: 'A', name: '' },
          { kind: 'ServiceAccount', name: 'B', apiGroup: 'c' },
          { kind: 'User', name: 'u', apiGroup: 'c' },
        ],
      }),
      [
        'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
        'roleRef.name: Required value',
        'subjects[0].name: Required value',
        'subjects[0].kind: Unsupported value: "A": supported values: "ServiceAccount", "User", "Group"',
        'subjects[1].name: Invalid value: "B": a lowercase RFC 1123 subdomain…',
        'subjects[1].apiGroup: Unsupported value: "c": supported values: ""',
        'subjects[2].apiGroup: Unsupported value: "c": supported values: "rbac.authorization.k8s.io"',
      ],
    ],
    [
      rbac('ClusterRoleBinding', { roleRef: ref('Role'), subjects: [{ kind: 'ServiceAccount', name: 'a' }] }),
      [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        'subjects[0].namespace: Required value',
      ],
    ],
  ]);
  const rule = { rules: [{ apiGroups: [''], resources: ['a'] }] };
  assert.deepEqual(changeRefusals(rbac('Role', {}), rbac('Role', rule)), [verbs, verbs]);
  assert.deepEqual(
    changeRefusals(rbac('RoleBinding', { roleRef: ref('Role') }), rbac('RoleBinding', { roleRef: ref('Role', 'q') })),
    [
      'roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"Role", Name:"q"}: cannot change roleRef',
    ],
  );
});

/** A request with an Ed25519 key. */
const SIGNED =
  'MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhADiUDWbhRq7HB8BhpTYYM/+rRcRdke3/XtkwISLEhLUWoAAwBQYDK2VwA0EA69QUgv9N' +
  'ayuKGA0IeKO8/6etGD8XTS5jO8cWm7P1kuXtuy9COt2t0M7SgJ0jKSDQD/yRz21O4epzlC8TtyUwBQ==';

const pem = (type: string): string => `-----BEGIN ${type}-----\n${SIGNED}\n-----END ${type}-----\n`;
const request = Buffer.from(pem('CERTIFICATE REQUEST')).toString('base64');

const TIME = '2020-01-01T00:00:00Z';
const NOW = '2023-11-14T22:13:20Z';
const signingRequest = (rest: JsonObject = {}): JsonObject =>
  cluster('certificates.k8s.io/v1', 'CertificateSigningRequest', {
    spec: { request, signerName: 'a.b/c', usages: ['any'] },
    ...rest,
  });

test('certificate signing requests: refused fields', () => {
  const csr = (spec: JsonObject = {}, status: JsonObject = {}, name = 'x'): JsonObject =>
    cluster(
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      { spec: { request, signerName: 'a.b/c', usages: ['any'], ...spec }, status },
      name,
    );
  const signer = (signerName: string): JsonObject => csr({ signerName });
  const S = 'spec.signerName: ';
  check([
    [csr({}, {}, 'Any Name'), []],
    [
      csr({ request: 'eA==' }),
      ['spec.request: Invalid value: []byte{0x78}: PEM block type must be CERTIFICATE REQUEST'],
    ],
    [
      csr({ request: Buffer.from(`${pem('CERTIFICATE')}${pem('CERTIFICATE REQUEST')}`).toString('base64') }),
      ['spec.request: Invalid value: []byte{0x2d, …'],
    ],
    [
      csr({ usages: ['a', 'any', 'any'], expirationSeconds: 599 }),
      [
        'spec.usages[0]: Unsupported value: "a": supported values: "any", "cert sign"…',
        'spec.usages[2]: Duplicate value: "any"',
        'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
      ],
    ],
    [signer(''), [`${S}Required value`]],
    [
      signer('kubernetes.io/legacy-unknown'),
      [`${S}Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version`],
    ],
    [
      signer('a.b'),
      [`${S}Invalid value: "a.b": must be a fully qualified domain and path of the form 'example.com/signer-name'`],
    ],
    [
      signer('A/B'),
      [
        `${S}Invalid value: "A": validating label "A": a lowercase RFC 1123 label…`,
        `${S}Invalid value: "A": should be a domain with at least two segments separated by dots`,
        `${S}Invalid value: "B": validating label "B": a lowercase RFC 1123 subdomain…`,
      ],
    ],
  ]);
  const is = (...types: string[]): JsonObject => ({ conditions: types.map((type) => ({ type, status: 'True' })) });
  const C = 'status.conditions';
  assert.deepEqual(changeRefusals(csr(), csr({}, is('Approved', 'Denied')), 'approval'), [
    `${C}[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`,
  ]);
  assert.deepEqual(
    changeRefusals(
      csr(),
      csr(
        {},
        {
          conditions: [
            { type: 'Failed', status: 'False' },
            { type: '', status: 'x' },
          ],
        },
      ),
      'status',
    ),
    [
      `${C}[0].status: Unsupported value: "False": supported values: "True"`,
      `${C}[1].type: Required value`,
      `${C}[1].status: Unsupported value: "x": supported values: "False", "True", "Unknown"`,
    ],
  );
  assert.deepEqual(changeRefusals(csr(), csr({}, { certificate: 'eA==' }), 'status'), [
    'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
  ]);
});

const conditions = (...given: JsonObject[]): JsonObject => ({ status: { conditions: given } });
const decision = (type: string, rest: JsonObject = {}): JsonObject => ({ type, status: 'True', ...rest });

test('certificate signing requests: neither usages nor the status of a condition have a default', () => {
  check([[signingRequest({ spec: { request, signerName: 'a.b/c' } }), ['spec.usages: Required value']]]);
  assert.deepEqual(statusRefusals(signingRequest(), signingRequest(conditions({ type: 'Approved' })), 'approval'), [
    'status.conditions[0].status: Required value',
  ]);
});

test('certificate signing requests: a status update neither adds nor removes decisions', () => {
  const approved = signingRequest(conditions(decision('Approved', { reason: 'a', lastUpdateTime: TIME })));
  const add = 'status.conditions: Forbidden: updates may not add a condition of type "Approved"';
  const remove = 'status.conditions: Forbidden: updates may not remove a condition of type "Approved"';
  assert.deepEqual(statusRefusals(signingRequest(), approved), [add]);
  assert.deepEqual(statusRefusals(approved, signingRequest()), [remove]);
  assert.deepEqual(statusRefusals(approved, signingRequest(), 'approval'), [remove]);
  // With the same number of decisions as before, they keep their content and their sent positions.
  const sent = signingRequest(conditions({ type: 'Seen', status: 'False' }, decision('Approved', { reason: 'b' })));
  assert.deepEqual(statusRefusals(approved, sent), []);
  const { status } = statusReplaced(approved, sent) as { status?: { conditions: readonly JsonObject[] } };
  assert.deepEqual(
    status?.conditions.map(({ type, reason }) => [type, reason]),
    [
      ['Seen', undefined],
      ['Approved', 'a'],
    ],
  );
});

test('certificate signing requests: an unchanged condition keeps its transition time', () => {
  const failed = (...given: JsonObject[]): JsonObject => signingRequest(conditions(...given));
  const before = failed(decision('Failed', { lastTransitionTime: TIME }), { type: 'Seen', status: 'False' });
  const { status } = statusReplaced(before, failed(decision('Failed'), decision('Seen'))) as {
    status?: { conditions: readonly JsonObject[] };
  };
  assert.deepEqual(
    status?.conditions.map(({ lastTransitionTime }) => lastTransitionTime),
    [TIME, NOW],
  );
});

test('API services: refused fields', () => {
  const service = (spec: JsonObject, name = 'v1.a.b'): JsonObject =>
    cluster(
      'apiregistration.k8s.io/v1',
      'APIService',
      { spec: { group: 'a.b', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1, ...spec } },
      name,
    );
  const remote = { namespace: 'n', name: 's' };
  check([
    [service({}, 'x'), ['metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.a.b"']],
    [
      service({ group: '', version: 'v2' }, 'v2.'),
      ['spec.group: Required value: only v1 may have an empty group and it better be legacy kube'],
    ],
    [
      service({ groupPriorityMinimum: 20_001, versionPriority: 0 }),
      [
        'spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000',
        'spec.versionPriority: Invalid value: 0: must be positive and less than 1000',
      ],
    ],
    [
      service({ caBundle: 'eHl6', insecureSkipTLSVerify: true }),
      [
        'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
      ],
    ],
    [
      service({ service: { port: 70_000 } }),
      [
        'spec.service.namespace: Required value',
        'spec.service.name: Required value',
        'spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      service({ service: remote, caBundle: 'eHl6', insecureSkipTLSVerify: true }),
      ['spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present'],
    ],
  ]);
  assert.deepEqual(
    changeRefusals(service({}), { ...service({}), status: { conditions: [{ type: 'A', status: 'B' }] } }, 'status'),
    ['status.conditions[0].status: Unsupported value: "B": supported values: "True", "False", "Unknown"'],
  );
  const available = {
    type: 'Available',
    status: 'True',
    lastTransitionTime: NOW,
    reason: 'Local',
    message: 'Local APIServices are always available',
  };
  const statusOf = (spec: JsonObject): unknown => (stored(service(spec)) as { status?: unknown }).status;
  assert.deepEqual(statusOf({}), { conditions: [available] });
  assert.deepEqual(statusOf({ service: remote }), {});
  assert.deepEqual(row(service({ service: remote })), {
    Name: 'v1.a.b',
    Service: 'n/s',
    Available: 'Unknown',
    Age: '<unknown>',
  });
});
