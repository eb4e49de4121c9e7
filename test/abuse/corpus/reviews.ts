import { BODY_BYTES, creation, filled, filledMap, type HostileRequest, overfilled } from './hostile-request.ts';

/** Self-reviews, which any token allows without a role. */
const SELF_ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const SELF_RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ACCESS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const TOKEN = '/apis/authentication.k8s.io/v1/tokenreviews';

const ASKED = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } };

const byNobody = (name: string, path: string, make: () => unknown): HostileRequest =>
  creation(name, path, make, { sender: 'nobody' });

export const owner = (index: number, fields: unknown = { 'f:spec': { 'f:x': {} } }): unknown => ({
  manager: `m${index}`,
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: fields,
});

export const reference = (index: number): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  name: `p${index}`,
  uid: `u${index}`,
});

const METADATA: readonly (readonly [string, () => unknown])[] = [
  ['managedFields', () => filled(BODY_BYTES, owner)],
  [
    'one wide managedFields entry',
    () => [
      owner(
        0,
        filledMap(BODY_BYTES, (index) => [`f:field${index}`, {}]),
      ),
    ],
  ],
  ['labels', () => filledMap(BODY_BYTES, (index) => [`l${index}`, 'v'])],
  ['annotations', () => filledMap(BODY_BYTES, (index) => [`a${index}`, 'v'])],
  [
    'more labels than are read',
    () => Object.fromEntries(overfilled(BODY_BYTES, (index): [string, string] => [`l${index}`, 'v'])),
  ],
  ['more finalizers than are read', () => overfilled(BODY_BYTES, () => 'a')],
  ['finalizers', () => filled(BODY_BYTES, (index) => `a.io/f${index}`)],
  ['ownerReferences', () => filled(BODY_BYTES, reference)],
];

const fieldOf = (what: string): string =>
  what.startsWith('one wide') ? 'managedFields' : (/more (\w+) than/.exec(what)?.[1] ?? what);

const SELECTED = [
  ['labelSelector', (index: number) => ({ key: `k${index}`, operator: 'In', values: ['a', 'b'] })],
  ['fieldSelector', (index: number) => ({ key: `spec.k${index}`, operator: 'In', values: ['a'] })],
] as const;

export const REVIEWS: readonly HostileRequest[] = [
  ...METADATA.flatMap(([what, make]) =>
    [SELF_ACCESS, SELF_RULES, SELF].map((path) => {
      const spec = path === SELF_ACCESS ? ASKED : { namespace: 'default' };
      const body = (): unknown => ({ metadata: { [fieldOf(what)]: make() }, ...(path === SELF ? {} : { spec }) });
      return byNobody(`review ${path.split('/').at(-1)}: ${what}`, path, body);
    }),
  ),
  ...SELECTED.map(([field, make]) =>
    byNobody(`review: requirements of its ${field}`, SELF_ACCESS, () => {
      const requirements = filled(BODY_BYTES, make);
      return { spec: { resourceAttributes: { ...ASKED.resourceAttributes, [field]: { requirements } } } };
    }),
  ),
  byNobody('review: values of one requirement', SELF_ACCESS, () => {
    const requirements = [{ key: 'k', operator: 'In', values: filled(BODY_BYTES, (index) => `v${index}`) }];
    return { spec: { resourceAttributes: { ...ASKED.resourceAttributes, labelSelector: { requirements } } } };
  }),
  creation(
    'access review: groups',
    ACCESS,
    () => ({ spec: { ...ASKED, groups: filled(BODY_BYTES, (index) => `g${index}`) } }),
    {
      sender: 'admin',
    },
  ),
  creation(
    'access review: extra',
    ACCESS,
    () => ({
      spec: { ...ASKED, user: 'a', extra: filledMap(BODY_BYTES, (index) => [`e${index}`, ['v']]) },
    }),
    { sender: 'admin' },
  ),
  creation(
    'token review: audiences',
    TOKEN,
    () => ({
      spec: { token: 'a.b.c', audiences: filled(BODY_BYTES, (index) => `a${index}`) },
    }),
    { sender: 'admin' },
  ),
  creation('token review: a long token', TOKEN, () => ({ spec: { token: 'a'.repeat(BODY_BYTES) } }), {
    sender: 'admin',
  }),
];
