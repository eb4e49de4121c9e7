import {
  BODY_BYTES,
  CORE,
  filled,
  filledMap,
  filledText,
  groupPath,
  type HostileRequest,
  type PlainRequest,
  STORED_BYTES,
  stored,
  URL_BYTES,
} from './hostile-request.ts';

const CONFIG_MAPS = `${CORE}/configmaps`;
const PODS = `${CORE}/pods`;
const OBJECTS = 3_000;

/** Small objects with labels, as a namespace of an ordinary user can hold. */
const MANY: readonly PlainRequest[] = Array.from({ length: OBJECTS }, (_, index) =>
  stored(CONFIG_MAPS, () => ({
    metadata: { name: `many-${index}`, labels: { app: `a${index}`, tier: 'b' } },
    data: { k: 'v' },
  })),
);
const LARGE: readonly PlainRequest[] = Array.from({ length: 20 }, (_, index) =>
  stored(CONFIG_MAPS, () => ({
    metadata: { name: `large-${index}` },
    data: filledMap(STORED_BYTES, (key) => [`k${key}`, 'v']),
  })),
);
const WIDE_LABELS = stored(CONFIG_MAPS, () => ({
  metadata: { name: 'labelled', labels: filledMap(STORED_BYTES, (index) => [`l${index}`, 'v']) },
}));
const MANY_PODS: readonly PlainRequest[] = Array.from({ length: 1_000 }, (_, index) =>
  stored(PODS, () => ({ metadata: { name: `pod-${index}` }, spec: { containers: [{ name: 'c', image: 'i' }] } })),
);

const reading = (name: string, path: string, more: Partial<HostileRequest> = {}): HostileRequest => ({
  name,
  sender: 'editor',
  method: 'GET',
  path,
  ...more,
});

const selectors: readonly (readonly [string, (bytes: number) => string])[] = [
  ['absent labels', (bytes) => filledText(bytes, (index) => `!k${index}`)],
  ['present labels', (bytes) => filledText(bytes, (index) => `k${index}`)],
  ['other values', (bytes) => filledText(bytes, (index) => `k${index}!=v`)],
  ['other values of one label', (bytes) => filledText(bytes, (index) => `app!=v${index}`)],
  ['the same requirement', (bytes) => filledText(bytes, () => 'app')],
  ['values of one label', (bytes) => `app in (${filledText(bytes, (index) => `v${index}`)})`],
  ['other values in one set', (bytes) => `app notin (${filledText(bytes, (index) => `v${index}`)})`],
  ['many sets', (bytes) => filledText(bytes, (index) => `app notin(v${index},w)`)],
  ['comparisons', (bytes) => filledText(bytes, (index) => `app>${index}`)],
  ['a long number', (bytes) => `app>${'9'.repeat(bytes)}`],
  ['opening brackets', (bytes) => `app in ${'('.repeat(bytes)}`],
  ['commas', (bytes) => ','.repeat(bytes)],
  ['blanks', (bytes) => `app in (${'+'.repeat(bytes)}`],
];

const SELECTING: readonly HostileRequest[] = selectors.flatMap(([what, make]) => {
  const query = (bytes: number): string => `labelSelector=${encodeURI(make(bytes))}`;
  return [
    reading(`list: ${what}`, `${CONFIG_MAPS}?${query(URL_BYTES)}`, { before: [...MANY, WIDE_LABELS] }),
    reading(`delete all: ${what}`, `${CONFIG_MAPS}?dryRun=All&${query(URL_BYTES)}`, {
      method: 'DELETE',
      before: [...MANY, WIDE_LABELS],
    }),
  ];
});

const FIELDS: readonly HostileRequest[] = [
  ['fields of pods', PODS, (index: number) => `spec.nodeName!=n${index}`],
  ['the same field', PODS, () => 'spec.nodeName!=n'],
  ['names', CONFIG_MAPS, (index: number) => `metadata.name!=n${index}`],
  ['fields that nobody knows', CONFIG_MAPS, (index: number) => `f${index}=v`],
].map(([what, path, make]) =>
  reading(
    `list: ${what as string}`,
    `${path as string}?fieldSelector=${filledText(URL_BYTES, make as (index: number) => string)}`,
    { before: [...MANY, ...MANY_PODS] },
  ),
);

const WATCHES: readonly HostileRequest[] = [
  ['absent labels', (index: number) => `!k${index}`],
  ['other values', (index: number) => `k${index}!=v`],
].map(([what, make]) =>
  reading(
    `300 watches: ${what as string}`,
    `${CONFIG_MAPS}?watch=true&labelSelector=${filledText(30_000, make as (index: number) => string)}`,
    {
      before: MANY,
      atOnce: 300,
      staysOpen: true,
    },
  ),
);

const ACCEPTED = [
  ['YAML', 'application/yaml'],
  ['a table', 'application/json;as=Table;v=v1;g=meta.k8s.io'],
  ['a table in YAML', 'application/yaml;as=Table;v=v1;g=meta.k8s.io'],
  ['metadata alone', 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'],
  ['metadata alone in YAML', 'application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'],
  ['protobuf', 'application/vnd.kubernetes.protobuf'],
] as const;

const FORMS: readonly HostileRequest[] = [
  ...ACCEPTED.flatMap(([what, accept]) => [
    reading(`small objects as ${what}`, CONFIG_MAPS, { headers: { accept }, before: MANY }),
    reading(`large objects as ${what}`, CONFIG_MAPS, { headers: { accept }, before: LARGE }),
    reading(`pods as ${what}`, PODS, { headers: { accept }, before: MANY_PODS }),
    reading(`a watch as ${what}`, `${CONFIG_MAPS}?watch=true&resourceVersion=0`, {
      headers: { accept: accept.replace('List', '') },
      before: LARGE,
      staysOpen: true,
    }),
  ]),
  reading('one object as YAML', `${CONFIG_MAPS}/large-0`, { headers: { accept: 'application/yaml' }, before: LARGE }),
  reading('lists as YAML at once', `${CONFIG_MAPS}?limit=500&labelSelector=tier=b`, {
    headers: { accept: 'application/yaml' },
    before: MANY,
    atOnce: 30,
  }),
  reading('long lists as YAML at once', `${CONFIG_MAPS}?limit=3`, {
    headers: { accept: 'application/yaml' },
    before: LARGE,
    atOnce: 20,
  }),
  reading('an indented list', `${CONFIG_MAPS}?pretty=true`, { before: MANY }),
  reading('OpenAPI as YAML', '/openapi/v2', { headers: { accept: 'application/yaml' }, sender: 'nobody' }),
  reading('OpenAPI as protobuf', '/openapi/v2', {
    headers: { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
    sender: 'nobody',
  }),
  reading('forms to choose from', `${CONFIG_MAPS}?limit=1`, {
    headers: { accept: filledText(URL_BYTES, (index) => `a/b${index};q=0.${index}`) },
  }),
  reading('parameters of a form', `${CONFIG_MAPS}?limit=1`, {
    headers: { accept: `application/json;${filledText(URL_BYTES, (index) => `p${index}=v`, ';')}` },
  }),
  reading('blanks in a form', `${CONFIG_MAPS}?limit=1`, {
    headers: { accept: `application/json${' '.repeat(URL_BYTES)};q=1` },
  }),
  reading('parameters', `${CONFIG_MAPS}?limit=1&${filledText(URL_BYTES, (index) => `p${index}=v`, '&')}`),
  reading('a long path', `/${'a/'.repeat(URL_BYTES / 2)}`),
  reading('a token that is none', CONFIG_MAPS, { headers: { authorization: `Bearer ${'a.'.repeat(URL_BYTES / 2)}` } }),
  reading('a token of pages that is none', `${CONFIG_MAPS}?limit=1&continue=${'A'.repeat(URL_BYTES)}`),
  reading('hashes that are known', `${CONFIG_MAPS}/large-0`, {
    headers: { 'if-none-match': filledText(URL_BYTES, (index) => `"e${index}"`) },
    before: LARGE,
  }),
  reading('groups to act in', `${CONFIG_MAPS}?limit=1`, {
    sender: 'admin',
    headers: { 'impersonate-user': 'u', 'impersonate-group': filledText(URL_BYTES, (index) => `g${index}`) },
  }),
];

const yamlBody = (name: string, make: () => string, more: Partial<HostileRequest> = {}): HostileRequest => ({
  name: `YAML: ${name}`,
  sender: 'editor',
  method: 'POST',
  path: `${CONFIG_MAPS}?dryRun=All`,
  headers: { 'content-type': 'application/yaml' },
  body: make,
  ...more,
});

const HEAD = 'metadata:\n  name: y\ndata:\n';
const lines = (bytes: number, make: (index: number) => string): string => `${HEAD}${filledText(bytes, make, '\n')}\n`;
const pair = (index: number): string => `  k${index}: v`;

const YAML: readonly HostileRequest[] = [
  yamlBody('as many keys as are read', () => lines(700_000, pair)),
  yamlBody('thirty bodies at once', () => lines(700_000, pair), { atOnce: 30 }),
  yamlBody('as many keys as fit', () => lines(BODY_BYTES, pair)),
  yamlBody('a flow map', () => `{metadata: {name: y}, data: {${filledText(BODY_BYTES, (index) => `k${index}: v`)}}}`),
  yamlBody('a flow list', () => `metadata: {finalizers: [${'a,'.repeat(BODY_BYTES / 2)}]}`),
  yamlBody('a long text', () => `${HEAD}  k: ${'v '.repeat(BODY_BYTES / 2)}`),
  yamlBody('a long block', () => `${HEAD}  k: |\n${'   v\n'.repeat(BODY_BYTES / 5)}`),
  yamlBody('a folded block', () => `${HEAD}  k: >\n${'   v\n'.repeat(BODY_BYTES / 5)}`),
  yamlBody('a quoted text of lines', () => `${HEAD}  k: "${'v\n   '.repeat(BODY_BYTES / 5)}"`),
  yamlBody('a quoted text of escapes', () => `${HEAD}  k: "${'\\n'.repeat(BODY_BYTES / 2)}"`),
  yamlBody('a plain text of lines', () => `${HEAD}  k: v\n${'   v\n'.repeat(BODY_BYTES / 5)}`),
  yamlBody('comments', () => `${HEAD}${'# c\n'.repeat(BODY_BYTES / 4)}  k: v\n`),
  yamlBody('empty lines', () => `${HEAD}${'\n'.repeat(BODY_BYTES)}  k: v\n`),
  yamlBody('blanks', () => `${HEAD}  k: ${' '.repeat(BODY_BYTES)}v\n`),
  yamlBody('tabs', () => `${HEAD}${'\t'.repeat(BODY_BYTES)}k: v\n`),
  yamlBody('opening brackets', () => '['.repeat(BODY_BYTES)),
  yamlBody('documents', () => '---\n'.repeat(BODY_BYTES / 4)),
  yamlBody('dashes', () => '- '.repeat(BODY_BYTES / 2)),
  yamlBody('questions', () => '? '.repeat(BODY_BYTES / 2)),
  yamlBody('anchors', () => lines(BODY_BYTES, (index) => `  k${index}: &a${index} v`)),
  yamlBody('aliases', () => `${HEAD}  k: &a v\n${filledText(BODY_BYTES, (index) => `  k${index}: *a`, '\n')}\n`),
  yamlBody('merges', () => `a: &a {b: c}\n${filledText(BODY_BYTES, (index) => `k${index}: {<<: *a}`, '\n')}\n`),
  yamlBody('tags', () => lines(BODY_BYTES, (index) => `  k${index}: !!str v`)),
  yamlBody('directives', () => `${'%TAG !a! a\n'.repeat(BODY_BYTES / 11)}---\na: b\n`),
  yamlBody('the same key', () => lines(700_000, () => '  k: v')),
  yamlBody('numbers', () => lines(700_000, (index) => `  k${index}: 1e3`)),
  yamlBody('a long number', () => `${HEAD}  k: ${'9'.repeat(BODY_BYTES)}\n`),
  yamlBody('mistakes', () => lines(700_000, () => '  k: v: w')),
  yamlBody('a mistake at the end', () => `${lines(700_000, pair)}x\n`),
  yamlBody(
    'text that begins like JSON',
    () => `{"metadata":{"name":"y"},"data":{${filledText(BODY_BYTES, (index) => `"k${index}":"v"`)}},}`,
  ),
  yamlBody('applied', () => `apiVersion: v1\nkind: ConfigMap\n${lines(700_000, pair)}`, {
    method: 'PATCH',
    path: `${CONFIG_MAPS}/y?fieldManager=corpus&dryRun=All`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
  }),
];

const jsonBody = (name: string, make: () => string, more: Partial<HostileRequest> = {}): HostileRequest => ({
  ...yamlBody(name, make, more),
  name: `JSON: ${name}`,
  headers: { 'content-type': 'application/json' },
});

const JSON_BODIES: readonly HostileRequest[] = [
  ...['Strict', 'Warn', 'Ignore'].flatMap((validation) => {
    const path = `${CONFIG_MAPS}?dryRun=All&fieldValidation=${validation}`;
    return [
      jsonBody(`keys that stand twice, ${validation}`, () => `{"data":{${'"k":"v",'.repeat(BODY_BYTES / 8)}"k":"v"}}`, {
        path,
      }),
      jsonBody(
        `keys that each stand twice, ${validation}`,
        () => `{"data":{${filledText(BODY_BYTES, (index) => `"k${index >> 1}":"v"`)}}}`,
        { path },
      ),
      jsonBody(`unknown fields, ${validation}`, () => `{${filledText(BODY_BYTES, (index) => `"k${index}":"v"`)}}`, {
        path,
      }),
    ];
  }),
  jsonBody('a mistake at the end', () => `{"data":{${filledText(BODY_BYTES, (index) => `"k${index}":"v"`)}}`),
  jsonBody('odd numbers', () => `{"data":{${filledText(BODY_BYTES, (index) => `"k${index}":1.0`)}}}`),
  jsonBody('escaped halves', () => `{"data":{"k":"${'\\ud800'.repeat(BODY_BYTES / 6)}"}}`),
  jsonBody('escapes', () => `{"data":{"k":"${'\\u0000'.repeat(BODY_BYTES / 6)}"}}`),
  jsonBody('a text of long characters', () => JSON.stringify({ data: { k: '\u{1f600}'.repeat(BODY_BYTES / 4) } })),
  jsonBody('numbers of many digits', () => `{"data":[${'9'.repeat(BODY_BYTES)}]}`),
  jsonBody('quantities of many digits', () => `{"spec":{"hard":{"cpu":"${'9'.repeat(BODY_BYTES)}"}}}`, {
    path: `${CORE}/resourcequotas?dryRun=All`,
  }),
  jsonBody('empty lists', () => `{"data":[${'[],'.repeat(BODY_BYTES / 3)}[]]}`),
  jsonBody('a long name', () => JSON.stringify({ metadata: { name: 'n'.repeat(BODY_BYTES) } })),
  jsonBody('a long label', () =>
    JSON.stringify({ metadata: { name: 'n', labels: { ['l'.repeat(BODY_BYTES / 2)]: 'v'.repeat(BODY_BYTES / 2) } } }),
  ),
  jsonBody('a long generated name', () => JSON.stringify({ metadata: { generateName: 'n'.repeat(BODY_BYTES) } })),
  jsonBody('blanks', () => `{${' '.repeat(BODY_BYTES)}}`),
  jsonBody('a deletion', () => JSON.stringify({ preconditions: { uid: 'u'.repeat(BODY_BYTES) } }), {
    method: 'DELETE',
    path: `${CONFIG_MAPS}/none`,
  }),
  jsonBody('deletions of unknown fields', () => JSON.stringify(filledMap(BODY_BYTES, (index) => [`u${index}`, 1])), {
    method: 'DELETE',
    path: `${CONFIG_MAPS}/none`,
  }),
  jsonBody(
    'an indented answer',
    () => JSON.stringify({ metadata: { name: 'n', finalizers: filled(BODY_BYTES / 2, () => 'a') } }),
    { path: `${CONFIG_MAPS}?dryRun=All&pretty=true` },
  ),
  jsonBody(
    'deployment of a long image',
    () =>
      JSON.stringify({
        metadata: { name: 'd' },
        spec: { selector: {}, template: { spec: { containers: [{ name: 'c', image: 'a/'.repeat(BODY_BYTES / 2) }] } } },
      }),
    { path: `${groupPath('apps/v1')}/deployments?dryRun=All` },
  ),
];

export const READING: readonly HostileRequest[] = [...SELECTING, ...FIELDS, ...WATCHES, ...FORMS];
export const BODIES: readonly HostileRequest[] = [...YAML, ...JSON_BODIES];
