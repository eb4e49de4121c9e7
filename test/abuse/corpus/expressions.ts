import { CORE, creation, filledMap, type HostileRequest, type PlainRequest, stored } from './hostile-request.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const RULES = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];

/** A policy that judges only the ConfigMap of its own request. */
function policy(name: string, spec: object): readonly PlainRequest[] {
  const matchConditions = [{ name: 'own', expression: `object.metadata.name == '${name}'` }];
  return [
    stored(`${ADMISSION}/validatingadmissionpolicies`, () => ({
      metadata: { name },
      spec: { matchConstraints: { resourceRules: RULES }, matchConditions, ...spec },
    })),
    stored(`${ADMISSION}/validatingadmissionpolicybindings`, () => ({
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    })),
  ];
}

/** What fits into a ConfigMap. */
const DATA_BYTES = 1_000_000;
const DOUBLINGS = 40;
/** Each variable contains the one before it twice. */
const doubled = (letter: string, of: (before: string) => string): readonly object[] =>
  Array.from({ length: DOUBLINGS }, (_, index) => ({
    name: `${letter}${index}`,
    expression: index === 0 ? '[object.metadata.name]' : of(`variables.${letter}${index - 1}`),
  }));
const LAST = DOUBLINGS - 1;
const values = (of: (before: string) => string): readonly object[] => [...doubled('a', of), ...doubled('b', of)];
const pair = (before: string): string => `[${before}, ${before}]`;

type Judged = readonly [name: string, spec: object, data?: () => Record<string, string>];

const POLICIES: readonly Judged[] = [
  [
    'values-in-values',
    { variables: values(pair), validations: [{ expression: `variables.a${LAST} == variables.b${LAST}` }] },
  ],
  [
    'doubled-lists',
    {
      variables: values((before) => `${before} + ${before}`),
      validations: [{ expression: `[variables.a${LAST}] == [variables.b${LAST}]` }],
    },
  ],
  [
    'long-messages',
    {
      variables: values(pair),
      validations: [{ expression: 'false', messageExpression: `'%s'.format([variables.a${LAST}])` }],
    },
  ],
  [
    'failing-variables',
    {
      variables: doubled('a', (before) => `${before} || ${before}`).map((each, index) =>
        index === 0 ? { ...each, expression: '1 / 0 == 1' } : each,
      ),
      validations: [{ expression: `variables.a${LAST}` }],
    },
  ],
  [
    'pattern-of-data',
    { validations: [{ expression: 'object.data.text.matches(object.data.pattern)' }] },
    () => ({ pattern: '(a|b)*a(a|b){900}c', text: `c${'ab'.repeat(DATA_BYTES / 2 - 100)}` }),
  ],
  [
    'patterns-of-data',
    { validations: [{ expression: "object.data.all(k, 'b'.matches(object.data[k]) || true)" }] },
    () => filledMap(DATA_BYTES, (index) => [`k${index}`, `(?:${index}a|b){300}`]),
  ],
  [
    'found-parts',
    { validations: [{ expression: "object.data.text.findAll('a(?:.*b)?').size() > 0" }] },
    () => ({ text: 'a'.repeat(DATA_BYTES) }),
  ],
];

export const EXPRESSIONS: readonly HostileRequest[] = POLICIES.map(([name, spec, data = () => ({})]) =>
  creation(`policy: ${name.replaceAll('-', ' ')}`, `${CORE}/configmaps`, () => ({ metadata: { name }, data: data() }), {
    before: policy(name, spec),
  }),
);
