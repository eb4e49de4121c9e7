import type { ApiServerDeps } from '@holdfast/apiserver';
import type { HttpMethod } from '@holdfast/client';

/** A request that can be made of any size: what no field table describes. */
export interface Scenario {
  readonly name: string;
  /** Size of the larger request; the largest that the server reads, or near it. */
  readonly size: number;
  /** Prerequisites, created again for each size. */
  readonly before?: (size: number) => readonly Sent[];
  /** A path that is served some time after that. */
  readonly served?: string;
  readonly request: (size: number) => Sent;
}

export interface Sent {
  readonly method: HttpMethod;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const CORE = '/api/v1/namespaces/growth';
const MAPS = `${CORE}/configmaps`;
const URL_CHARS = 60_000;
const OBJECTS = 100;

const many = <T>(size: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: size }, (_, i) => make(i));
const members = <T>(size: number, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(many(size, (index) => [`k${index}`, make(index)]));
const repeated = (chars: number, make: (index: number) => string, separator = ','): string => {
  const parts: string[] = [];
  for (let left = chars, index = 0; left > 0; index += 1) {
    const part = make(index);
    parts.push(part);
    left -= part.length + separator.length;
  }
  return parts.join(separator);
};
const post = (path: string, body: unknown): Sent => ({ method: 'POST', path, body });
const gone = (path: string): Sent => ({ method: 'DELETE', path });
const get = (path: string, headers: Readonly<Record<string, string>> = {}): Sent => ({ method: 'GET', path, headers });

const objects = (): readonly Sent[] =>
  many(OBJECTS, (index) => post(MAPS, { metadata: { name: `o${index}`, labels: { app: `a${index}` } } }));

const SELECTORS: readonly (readonly [string, (index: number) => string])[] = [
  ['absent labels', (index) => `!k${index}`],
  ['other values', (index) => `k${index}!=v`],
  ['other values of one label', (index) => `app!=v${index}`],
  ['the same requirement', () => 'app'],
  ['sets', (index) => `app notin(v${index},w)`],
  ['commas', () => ''],
];
const selecting: readonly Scenario[] = [
  ...SELECTORS.map(([what, make]) => ({
    name: `label selector: ${what}`,
    size: URL_CHARS,
    before: objects,
    request: (size: number) => get(`${MAPS}?labelSelector=${encodeURIComponent(repeated(size / 2, make))}`),
  })),
  {
    name: 'label selector: values of one set',
    size: URL_CHARS,
    before: objects,
    request: (size) => get(`${MAPS}?labelSelector=app in (${repeated(size, (index) => `v${index}`)})`),
  },
  {
    name: 'field selector',
    size: URL_CHARS,
    before: objects,
    request: (size) => get(`${MAPS}?fieldSelector=${repeated(size, (index) => `metadata.name!=n${index}`)}`),
  },
];

const FORMS: readonly (readonly [string, (index: number) => string])[] = [
  ['types', (index) => `a/b${index};q=0.1`],
  ['tables', () => 'application/json;as=Table;v=v1;g=other'],
  ['parameters', (index) => `application/json;p${index}=v`],
  ['commas', () => ''],
];
const accepting: readonly Scenario[] = FORMS.map(([what, make]) => ({
  name: `Accept: ${what}`,
  size: URL_CHARS,
  request: (size: number) => get(`${MAPS}?limit=1`, { accept: repeated(size, make) }),
}));

const target = (size: number): Sent =>
  post(MAPS, {
    metadata: { name: `target-${size}`, finalizers: many(Math.floor(size / 2), (index) => `a.b/f${index}`) },
    data: members(Math.floor(size / 2), () => 'v'),
  });
const OPERATIONS: readonly (readonly [string, (index: number, size: number) => unknown])[] = [
  ['members', (index) => ({ op: 'add', path: `/data/n${index}`, value: 'v' })],
  ['replacements', (index, size) => ({ op: 'replace', path: `/data/k${index % Math.floor(size / 2)}`, value: 'w' })],
  ['inserts at the front', (index) => ({ op: 'add', path: '/metadata/finalizers/0', value: `a.b/n${index}` })],
  [
    'changes at the end',
    (index) => ({
      op: index % 2 ? 'remove' : 'add',
      path: index % 2 ? '/metadata/finalizers/0' : '/metadata/finalizers/-',
      value: 'a.b/z',
    }),
  ],
  ['moves', () => ({ op: 'move', from: '/metadata/finalizers/0', path: '/metadata/finalizers/-' })],
  ['copies of texts', (index) => ({ op: 'copy', from: '/data/k0', path: `/data/c${index}` })],
  ['tests', (index, size) => ({ op: 'test', path: `/data/k${index % Math.floor(size / 2)}`, value: 'v' })],
];
const patching: readonly Scenario[] = OPERATIONS.map(([what, make]) => ({
  name: `JSON patch: ${what}`,
  size: 4_000,
  before: (size: number) => [target(size)],
  request: (size: number) => ({
    method: 'PATCH' as const,
    path: `${MAPS}/target-${size}?dryRun=All`,
    headers: { 'content-type': 'application/json-patch+json' },
    body: many(size, (index) => make(index, size)),
  }),
}));

const owner = (index: number, fields: unknown): unknown => ({
  manager: `m${index}`,
  operation: index % 2 === 0 ? 'Apply' : 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  time: '2026-01-01T00:00:00Z',
  fieldsV1: fields,
});
const OWNERS: readonly (readonly [string, (size: number) => unknown])[] = [
  [
    'many owners of one field each',
    (size) => many(size, (index) => owner(index, { 'f:data': { [`f:k${index}`]: {} } })),
  ],
  ['many owners of the same field', (size) => many(size, (index) => owner(index, { 'f:data': { 'f:k0': {} } }))],
  [
    'one owner of many fields',
    (size) => [owner(0, { 'f:data': Object.fromEntries(many(size, (index) => [`f:k${index}`, {}])) })],
  ],
  [
    'list keys',
    (size) => [owner(0, { 'f:spec': Object.fromEntries(many(size, (index) => [`k:{"a":${index},"b":"c"}`, {}])) })],
  ],
];
const owning: readonly Scenario[] = OWNERS.flatMap(([what, managedFields]) => [
  {
    name: `managedFields, created: ${what}`,
    size: 8_000,
    request: (size: number) =>
      post(`${MAPS}?dryRun=All`, {
        metadata: { name: 'new', managedFields: managedFields(size) },
        data: members(size, () => 'v'),
      }),
  },
  {
    name: `managedFields, applied over: ${what}`,
    size: 4_000,
    before: (size: number) => [
      gone(`${MAPS}/owned`),
      post(MAPS, { metadata: { name: 'owned', managedFields: managedFields(size) }, data: members(size, () => 'v') }),
    ],
    request: (size: number) => ({
      method: 'PATCH' as const,
      path: `${MAPS}/owned?dryRun=All&force=true&fieldManager=me`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'v1', kind: 'ConfigMap', data: members(size, () => 'w') },
    }),
  },
]);

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const spec = (schema: unknown): unknown => ({ type: 'object', properties: { spec: schema } });
const definition = (schema: unknown, group = 'growth.io'): unknown => ({
  metadata: { name: `wides.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'wides', singular: 'wide', kind: 'Wide', listKind: 'WideList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});
const nested = (depth: number): unknown =>
  depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(depth - 1) } };
const rule = (text: string): unknown => ({ rule: text });

type Schemas = readonly (readonly [string, size: number, (size: number) => unknown])[];
const SCHEMAS: Schemas = [
  ['properties', 8_000, (size) => ({ type: 'object', properties: members(size, () => ({ type: 'string' })) })],
  ['required', 8_000, (size) => ({ type: 'object', required: many(size, (index) => `k${index}`) })],
  ['values of an enum', 8_000, (size) => ({ type: 'string', enum: many(size, (index) => `v${index}`) })],
  ['nesting', 80, nested],
  [
    'forbidden forms',
    4_000,
    (size) => ({ type: 'object', anyOf: many(size, (index) => ({ required: [`k${index}`] })) }),
  ],
  [
    'list keys',
    2_000,
    (size) => ({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': many(size, (index) => `k${index}`),
      items: {
        type: 'object',
        required: many(size, (index) => `k${index}`),
        properties: members(size, () => ({ type: 'string' })),
      },
    }),
  ],
  [
    'defaults',
    4_000,
    (size) => ({
      type: 'object',
      default: members(size, () => 'v'),
      properties: members(size, () => ({ type: 'string' })),
    }),
  ],
  ['a long pattern', 8_000, (size) => ({ type: 'string', pattern: 'a?'.repeat(size / 4) })],
  [
    'rules',
    800,
    (size) => ({ type: 'object', 'x-kubernetes-validations': many(size, (index) => rule(`size(self) < ${index}`)) }),
  ],
  [
    'a long rule',
    200,
    (size) => ({
      type: 'integer',
      'x-kubernetes-validations': [rule(many(size, (index) => `self != ${index}`).join(' && '))],
    }),
  ],
  [
    'a deep rule',
    200,
    (size) => ({
      type: 'integer',
      'x-kubernetes-validations': [rule(`${'('.repeat(size)}self > 0${')'.repeat(size)}`)],
    }),
  ],
  [
    'a rule of one long text',
    80_000,
    (size) => ({ type: 'string', 'x-kubernetes-validations': [rule(`self != '${'a'.repeat(size)}'`)] }),
  ],
  [
    'a rule of one long list',
    4_000,
    (size) => ({
      type: 'integer',
      'x-kubernetes-validations': [rule(`self in [${many(size, (index) => index).join(',')}]`)],
    }),
  ],
  [
    'a rule of one long map',
    4_000,
    (size) => ({
      type: 'integer',
      'x-kubernetes-validations': [rule(`self in {${many(size, (index) => `${index}:0`).join(',')}}`)],
    }),
  ],
  [
    'a rule of calls',
    2_000,
    (size) => ({ type: 'string', 'x-kubernetes-validations': [rule(`self${".replace('a','b')".repeat(size)} != ''`)] }),
  ],
  [
    'nested quantifiers',
    8,
    (size) => ({
      type: 'array',
      maxItems: 2,
      items: { type: 'integer' },
      'x-kubernetes-validations': [
        rule(`${many(size, (index) => `self.all(v${index}, `).join('')}true${')'.repeat(size)}`),
      ],
    }),
  ],
];
const defining: readonly Scenario[] = SCHEMAS.map(([what, size, schema]) => ({
  name: `definition: ${what}`,
  size,
  request: (of: number) => post(`${DEFINITIONS}?dryRun=All`, definition(spec(schema(of)))),
}));

const list = (more: object): unknown => ({ type: 'array', items: { type: 'string' }, ...more });
const byName = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
const anyTexts = { additionalProperties: { type: 'string' } };
const boundedSet = list({
  'x-kubernetes-list-type': 'set',
  maxItems: 10_000,
  items: { type: 'string', maxLength: 20 },
});
type Instances = readonly (readonly [string, schema: unknown, (size: number) => unknown])[];
const INSTANCES: Instances = [
  ['a list', list({}), (size) => many(size, (index) => `v${index}`)],
  ['a set', list({ 'x-kubernetes-list-type': 'set' }), (size) => many(size, (index) => `v${index}`)],
  [
    'a map in a list',
    { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: byName },
    (size) => many(size, (index) => ({ name: `v${index}` })),
  ],
  ['unknown fields', { type: 'object' }, (size) => members(size, () => 'v')],
  [
    'fields that are kept',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    (size) => members(size, () => 'v'),
  ],
  [
    'additional properties',
    { type: 'object', additionalProperties: { type: 'string', pattern: '^(a|b|v)+$' } },
    (size) => members(size, () => 'v'),
  ],
  ['wrong values', list({ items: { type: 'integer' } }), (size) => many(size, (index) => `v${index}`)],
  [
    'forms to choose from',
    { type: 'array', items: { type: 'string', anyOf: many(20, (index) => ({ enum: [`x${index}`] })) } },
    (size) => many(size, (index) => `v${index}`),
  ],
  [
    'a rule for each item',
    list({
      maxItems: 10_000,
      items: { type: 'string', maxLength: 20, 'x-kubernetes-validations': [rule("self != ''")] },
    }),
    (size) => many(size, (index) => `v${index}`),
  ],
  [
    'a rule over all items',
    list({
      maxItems: 10_000,
      items: { type: 'string', maxLength: 20 },
      'x-kubernetes-validations': [rule("self.all(v, v != '')")],
    }),
    (size) => many(size, (index) => `v${index}`),
  ],
  [
    'a rule over all pairs',
    list({
      maxItems: 400,
      items: { type: 'string', maxLength: 20 },
      'x-kubernetes-validations': [rule('self.all(a, self.all(b, a != b || a == b))')],
    }),
    (size) => many(Math.floor(size / 20), (index) => `v${index}`),
  ],
  [
    'a rule over the past',
    list({
      maxItems: 10_000,
      items: { type: 'string', maxLength: 20 },
      'x-kubernetes-validations': [rule('self == oldSelf || true')],
    }),
    (size) => many(size, (index) => `v${index}`),
  ],
  ['a long duration', { type: 'string', format: 'duration' }, (size) => '1'.repeat(size * 5)],
  [
    'values that are not in a long enum',
    list({ items: { type: 'string', enum: many(4_000, (index) => `x${index}`) } }),
    (size) => many(size, (index) => `v${index}`),
  ],
  [
    'texts that a pattern has to follow at each place',
    list({ items: { type: 'string', pattern: '(a|b)*a(a|b){100}c' } }),
    (size) => many(size, (index) => `c${index.toString(2).replaceAll('0', 'a').replaceAll('1', 'b').repeat(20)}`),
  ],
  [
    'defaults in each item',
    list({
      items: {
        type: 'object',
        properties: { wide: { type: 'object', default: members(1_000, () => 'v'), ...anyTexts } },
      },
    }),
    (size) => many(size, () => ({})),
  ],
  [
    'a rule over two sets',
    {
      type: 'object',
      properties: { a: boundedSet, b: boundedSet },
      'x-kubernetes-validations': [rule('self.a == self.b')],
    },
    (size) => ({ a: many(size, (index) => `v${index}`), b: many(size, (index) => `v${index}`).toReversed() }),
  ],
];
const wide = (value: unknown, group: string): unknown => ({
  apiVersion: `${group}/v1`,
  kind: 'Wide',
  metadata: { name: 'wide' },
  spec: value,
});
const instances: readonly Scenario[] = INSTANCES.map(([what, schema, value], index) => {
  const group = `g${index}.growth.io`;
  const path = `/apis/${group}/v1/namespaces/growth/wides`;
  return {
    name: `custom resource: ${what}`,
    size: 8_000,
    before: () => [post(DEFINITIONS, definition(spec(schema), group))],
    served: path,
    request: (size: number) => post(`${path}?dryRun=All`, wide(value(size), group)),
  };
});

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const POLICIES = `${ADMISSION}/validatingadmissionpolicies`;
const policy = (more: object): unknown => ({
  metadata: { name: 'wide' },
  spec: {
    matchConstraints: {
      resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
    },
    validations: [{ expression: 'true' }],
    ...more,
  },
});
const policies: readonly Scenario[] = [
  ['variables', (size: number) => ({ variables: many(size, (index) => ({ name: `v${index}`, expression: 'true' })) })],
  [
    'variables of variables',
    (size: number) => ({
      variables: many(size, (index) => ({
        name: `v${index}`,
        expression: index === 0 ? 'true' : `variables.v${index - 1}`,
      })),
    }),
  ],
  ['validations', (size: number) => ({ validations: many(size, () => ({ expression: 'object.spec.replicas < 5' })) })],
  ['wrong validations', (size: number) => ({ validations: many(size, () => ({ expression: 'nothing' })) })],
].map(([what, make]) => ({
  name: `policy: ${what as string}`,
  size: 2_000,
  request: (size: number) => post(`${POLICIES}?dryRun=All`, policy((make as (size: number) => object)(size))),
}));
const changedPolicy: Scenario = {
  name: 'policy: one that is replaced',
  size: 2_000,
  before: (size) => [
    gone(`${POLICIES}/wide`),
    post(POLICIES, policy({ validations: many(size, (index) => ({ expression: `${index} > 0` })) })),
  ],
  request: (size) => ({
    method: 'PATCH',
    path: `${POLICIES}/wide?dryRun=All`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { validations: many(size, (index) => ({ expression: `${index + 7} > 0` })) } },
  }),
};

/** The webhook of `ANSWERS` is at this path; the lab answers it. */
const webhookPath = (what: string, size: number): string => `https://webhook.test/${encodeURIComponent(what)}/${size}`;
type Answers = ReadonlyMap<string, (size: number) => object>;
const base64 = (patch: unknown): string => Buffer.from(JSON.stringify(patch)).toString('base64');
const ANSWERS: Answers = new Map<string, (size: number) => object>([
  ['warnings', (size) => ({ allowed: true, warnings: many(size, (index) => `warning ${index}`) })],
  ['annotations', (size) => ({ allowed: true, auditAnnotations: members(size, () => 'v') })],
  [
    'a patch of members',
    (size) => ({
      allowed: true,
      patchType: 'JSONPatch',
      patch: base64([
        { op: 'add', path: '/data', value: {} },
        ...many(size, (index) => ({ op: 'add', path: `/data/k${index}`, value: 'v' })),
      ]),
    }),
  ],
  [
    'a patch of one value',
    (size) => ({
      allowed: true,
      patchType: 'JSONPatch',
      patch: base64([{ op: 'add', path: '/data', value: members(size, () => 'v') }]),
    }),
  ],
  ['a long refusal', (size) => ({ allowed: false, status: { message: 'no '.repeat(size) } })],
]);
const HOOKS = `${ADMISSION}/mutatingwebhookconfigurations`;
const hooked: readonly Scenario[] = [...ANSWERS.keys()].map((what) => ({
  name: `webhook answers ${what}`,
  size: 8_000,
  before: (size: number) => [
    gone(`${HOOKS}/growth`),
    post(HOOKS, {
      metadata: { name: 'growth' },
      webhooks: [
        {
          name: 'w.growth.io',
          clientConfig: { url: webhookPath(what, size) },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets', 'configmaps'] },
          ],
          objectSelector: { matchLabels: { hooked: 'yes' } },
        },
      ],
    }),
  ],
  request: () => post(`${MAPS}?dryRun=All`, { metadata: { name: 'hooked', labels: { hooked: 'yes' } } }),
}));

/** Responds as the path of the webhook determines. */
export const scriptedWebhooks: NonNullable<ApiServerDeps['webhooks']> = {
  call: async ({ url }, body) => {
    const [what = '', size = ''] = new URL(url).pathname.slice(1).split('/');
    const { request } = JSON.parse(body) as { readonly request: { readonly uid: string } };
    const answer = ANSWERS.get(decodeURIComponent(what))?.(Number(size));
    return JSON.stringify({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      response: { uid: request.uid, ...answer },
    });
  },
};

export const SCENARIOS: readonly Scenario[] = [
  ...selecting,
  ...accepting,
  ...patching,
  ...owning,
  ...defining,
  ...instances,
  ...policies,
  changedPolicy,
  ...hooked,
];
