import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import {
  buildEnvironment,
  ContainerConfigError,
  type EnvironmentSources,
  environmentReferences,
  expandAll,
  expandByStaticValues,
  expandSubPath,
} from './environment.ts';
import { expand } from './expand.ts';

const container = (change: Partial<Container>): Container => ({ name: 'main', resources: {}, ...change });

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', labels: { mylabel: 'L' }, annotations: { myannotation: 'A' } },
  spec: { containers: [container({})], nodeName: 'n1', serviceAccountName: 'robot' },
  status: {},
};

const sources: EnvironmentSources = {
  pod,
  podIp: '10.1.2.3',
  hostIp: '192.0.2.1',
  allocatable: { cpu: '4', memory: '1Gi' },
  data: new Map([
    ['ConfigMap/paint', { color: 'blue', size: 'big' }],
    ['Secret/key', { token: 's3' }],
  ]),
};

const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });

test('expansion: known, unknown and escaped references', () => {
  const values: Readonly<Record<string, string>> = { A: '1', EMPTY: '' };
  const cases: readonly [string, string][] = [
    ['x $(A) y', 'x 1 y'],
    ['$(A)$(A)', '11'],
    ['$(EMPTY)', ''],
    ['$(NOPE)', '$(NOPE)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A $ $( end', '$A $ $( end'],
  ];
  for (const [text, expected] of cases)
    assert.equal(
      expand(text, (name) => values[name], 100),
      expected,
      text,
    );
});

test('[DOWN-03] [DOWN-05] [DOWN-06] [DOWN-07] [EXP-16] fields of the pod', () => {
  const env = [
    field('NAME', 'metadata.name'),
    field('NAMESPACE', 'metadata.namespace'),
    field('UID', 'metadata.uid'),
    field('NODE', 'spec.nodeName'),
    field('OLD_NODE', 'spec.host'),
    field('ACCOUNT', 'spec.serviceAccountName'),
    field('HOST', 'status.hostIP'),
    field('IP', 'status.podIP'),
    field('LABEL', "metadata.labels['mylabel']"),
    field('ANNOTATION', "metadata.annotations['myannotation']"),
    field('MISSING', "metadata.labels['other']"),
  ];
  assert.deepEqual(buildEnvironment(container({ env }), sources), {
    NAME: 'web',
    NAMESPACE: 'shop',
    UID: 'u1',
    NODE: 'n1',
    OLD_NODE: 'n1',
    ACCOUNT: 'robot',
    HOST: '192.0.2.1',
    IP: '10.1.2.3',
    LABEL: 'L',
    ANNOTATION: 'A',
    MISSING: '',
  });
});

test('variables refer to earlier ones, and commands to all of them', () => {
  const env = [
    { name: 'A', value: '1' },
    { name: 'B', value: '$(A)2$(LATER)' },
    { name: 'LATER', value: 'x' },
  ];
  const environment = buildEnvironment(container({ env }), sources);
  assert.deepEqual(environment, { A: '1', B: '12$(LATER)', LATER: 'x' });
  assert.deepEqual(expandAll(['echo', '$(B)', '$$(A)'], environment), ['echo', '12$(LATER)', '$(A)']);
});

test('config maps and secrets, whole and by key', () => {
  const subject = container({
    envFrom: [{ prefix: 'P_', configMapRef: { name: 'paint' } }],
    env: [
      { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'paint', key: 'color' } } },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'key', key: 'token' } } },
      { name: 'MAYBE', valueFrom: { configMapKeyRef: { name: 'nope', key: 'x', optional: true } } },
    ],
  });
  assert.deepEqual(environmentReferences(subject), ['ConfigMap/paint', 'Secret/key', 'ConfigMap/nope']);
  assert.deepEqual(buildEnvironment(subject, sources), { P_color: 'blue', P_size: 'big', COLOR: 'blue', TOKEN: 's3' });
});

test('[LIFE-16] a missing source that is not optional is a configuration error that names it', () => {
  const missing = (reference: object) => () =>
    buildEnvironment(container({ env: [{ name: 'X', valueFrom: reference }] }), sources);
  assert.throws(
    missing({ configMapKeyRef: { name: 'nope', key: 'x' } }),
    new ContainerConfigError('configmap "nope" not found'),
  );
  assert.throws(
    missing({ secretKeyRef: { name: 'key', key: 'nope' } }),
    new ContainerConfigError("couldn't find key nope in Secret shop/key"),
  );
});

test('[DOWN-10] [DOWN-12] [DOWN-13] resources are divided and rounded up; unset limits are the allocatable amounts of the node', () => {
  const resources = { limits: { cpu: '250m' }, requests: { cpu: '100m', memory: '100Mi' } };
  const resource = (name: string, of: string, divisor?: string) => ({
    name,
    valueFrom: { resourceFieldRef: { resource: of, ...(divisor === undefined ? {} : { divisor }) } },
  });
  const env = [
    resource('CPU', 'limits.cpu'),
    resource('CPU_MILLIS', 'limits.cpu', '1m'),
    resource('MEMORY', 'requests.memory', '1Mi'),
    resource('MEMORY_LIMIT', 'limits.memory'),
    resource('UNSET', 'requests.ephemeral-storage'),
    resource('CPU_REQUEST', 'requests.cpu', '1m'),
    resource('ROUNDED', 'requests.memory', '1Gi'),
  ];
  const subject = container({ resources, env });
  const own = { ...sources, pod: { ...pod, spec: { ...pod.spec, containers: [subject] } } };
  assert.deepEqual(buildEnvironment(subject, own), {
    CPU: '1',
    CPU_MILLIS: '250',
    MEMORY: '100',
    MEMORY_LIMIT: '1073741824',
    UNSET: '0',
    CPU_REQUEST: '100',
    ROUNDED: '1',
  });
  const unlimited = container({ env: [resource('CPU', 'limits.cpu'), resource('NONE', 'requests.cpu')] });
  assert.deepEqual(buildEnvironment(unlimited, sources), { CPU: '4', NONE: '0' });
});

test('[DOWN-01] [DOWN-11] [DOWN-12] huge pages and node storage, by limit and by request', () => {
  const names = ['hugepages-2Mi', 'ephemeral-storage'];
  const asked = ['limits', 'requests'].flatMap((kind) => names.map((name) => `${kind}.${name}`));
  const env = asked.map((resource, index) => ({
    name: `V${index}`,
    valueFrom: { resourceFieldRef: { resource, divisor: '1Mi' } },
  }));
  const allocatable = { 'hugepages-2Mi': '64Mi', 'ephemeral-storage': '10Gi' };
  const valuesOf = (resources: Container['resources']): readonly string[] =>
    Object.values(buildEnvironment(container({ resources, env }), { ...sources, allocatable }));
  const limits = { 'hugepages-2Mi': '4Mi', 'ephemeral-storage': '2Gi' };
  const requests = { 'hugepages-2Mi': '4Mi', 'ephemeral-storage': '1Gi' };
  assert.deepEqual(valuesOf({ limits, requests }), ['4', '2048', '4', '1024']);
  assert.deepEqual(valuesOf({}), ['0', '10240', '0', '0'], 'only storage falls back to what the node can give');
});

test('[DOWN-04] [DOWN-06] [DOWN-07] keys of labels and annotations, and lists of addresses', () => {
  const env = [
    field('LABEL', "metadata.labels['mylabel']"),
    field('ANNOTATION', "metadata.annotations['myannotation']"),
    field('NONE', "metadata.annotations['nobody.example/has-it']"),
    field('IPS', 'status.podIPs'),
    field('HOSTS', 'status.hostIPs'),
  ];
  assert.deepEqual(Object.values(buildEnvironment(container({ env }), sources)), [
    'L',
    'A',
    '',
    '10.1.2.3',
    '192.0.2.1',
  ]);
  const dualStack = { ...sources, morePodIps: ['2001:db8::7'] };
  const { IPS, HOSTS } = buildEnvironment(container({ env }), dualStack);
  assert.deepEqual([IPS, HOSTS], ['10.1.2.3,2001:db8::7', '192.0.2.1'], 'the primary address is the first');
});

test('[DOWN-01] [DOWN-02] a variable accepts fields of the pod and of the container, and no other field', () => {
  const resources = { limits: { memory: '64Mi' } };
  const memory = { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } };
  const subject = container({ resources, env: [field('NAME', 'metadata.name'), memory] });
  assert.deepEqual(buildEnvironment(subject, sources), { NAME: 'web', MEMORY: '64' });
  for (const fieldPath of ['status.phase', 'spec.restartPolicy', 'metadata.labels']) {
    const odd = container({ env: [field('X', fieldPath)] });
    assert.throws(() => buildEnvironment(odd, sources), /unsupported fieldPath/);
  }
});

const doubling = (levels: number) => [
  { name: 'V0', value: 'x'.repeat(16) },
  ...Array.from({ length: levels }, (_, i) => ({ name: `V${i + 1}`, value: `$(V${i})$(V${i})` })),
];

test('[LIFE-16] variables that double each other are refused before expansion, each and in total', () => {
  const tooLong = container({ env: doubling(60) });
  assert.throws(() => buildEnvironment(tooLong, sources), {
    name: 'ContainerConfigError',
    message: 'environment variable V14 is longer than 131072 bytes when its references are expanded',
  });
  const large = { name: 'LARGE', value: 'x'.repeat(120_000) };
  const copies = Array.from({ length: 2_000 }, (_, i) => ({ name: `C${i}`, value: '$(LARGE)' }));
  const together = /the environment variables are longer than 1048576 bytes together/;
  assert.throws(() => buildEnvironment(container({ env: [large, ...copies] }), sources), together);
  const fromMap = new Map([['ConfigMap/big', { a: 'x'.repeat(200_000) }]]);
  const envFrom = [{ configMapRef: { name: 'big' } }];
  assert.throws(() => buildEnvironment(container({ envFrom }), { ...sources, data: fromMap }), /variable a is longer/);
});

test('[LIFE-16] command arguments that grow by references are refused, each and in total', () => {
  const values = { LARGE: 'x'.repeat(100_000) };
  assert.throws(() => expandAll(['$(LARGE)$(LARGE)'], values), /a word of the command .* is longer than 131072 bytes/);
  assert.throws(() => expandAll(Array(2_000).fill('$(LARGE)'), values), /are longer than 1048576 bytes together/);
});

test('unterminated references cost no more than their length', () => {
  let lookUps = 0;
  const count = (): undefined => {
    lookUps++;
  };
  const open = '$('.repeat(40_000);
  assert.equal(expand(open, count, 100_000), open);
  assert.equal(expand(`)${open}`, count, 100_000), `)${open}`);
  assert.equal(lookUps, 0);
  assert.equal(expand(`${open})`, count, 100_000), `${open})`);
  assert.equal(lookUps, 1);
});

test('variables named like Object.prototype members are handled like any other', () => {
  const data = new Map([['ConfigMap/odd', JSON.parse('{"__proto__":"kept","constructor":"built"}')]]);
  const envFrom = [{ configMapRef: { name: 'odd' } }];
  const environment = buildEnvironment(container({ envFrom }), { ...sources, data });
  assert.deepEqual(Object.entries(environment), [
    ['__proto__', 'kept'],
    ['constructor', 'built'],
  ]);
  assert.deepEqual(expandAll(['$(__proto__) $(constructor)'], environment), ['kept built']);
  assert.deepEqual(expandAll(['$(constructor) $(toString) $(__proto__)'], {}), [
    '$(constructor) $(toString) $(__proto__)',
  ]);
  const env = [
    { name: 'A', value: '$(constructor)' },
    { name: 'B', valueFrom: { configMapKeyRef: { name: 'paint', key: 'constructor', optional: true } } },
    field('C', "metadata.labels['constructor']"),
  ];
  assert.deepEqual(buildEnvironment(container({ env }), sources), { A: '$(constructor)', C: '' });
});

test('probe commands are expanded with the static variables of the container', () => {
  const env = [{ name: 'PORT', value: '80' }, { name: 'URL', value: 'http://$(PORT)' }, field('NAME', 'metadata.name')];
  const command = ['$(PORT)', '$(URL)', '$(NAME)', '$(NOBODY)'];
  assert.deepEqual(expandByStaticValues(command, container({ env })), ['80', 'http://$(PORT)', '', '$(NOBODY)']);
});

test('a subPathExpr expands to a path inside its volume, and uses only existing variables', () => {
  const values = { POD: 'web', ROOT: '/etc', UP: '..' };
  assert.equal(expandSubPath('logs/$(POD)', values), 'logs/web');
  const refused = [
    ['$(ROOT)', 'subPath "/etc" must not be an absolute path'],
    ['a/$(UP)/b', `unable to provision subPath "a/../b": it must not contain '..'`],
    ['$(constructor)', 'missing value for "constructor" in subPathExpr'],
  ] as const;
  for (const [text, message] of refused) {
    assert.throws(() => expandSubPath(text, values), { name: 'ContainerConfigError', message }, text);
  }
});
