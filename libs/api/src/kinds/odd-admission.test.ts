import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { changeRefusals, compareTexts, refusals, replaced, row } from './testing.ts';

type Case = readonly [document: JsonObject, errors: readonly string[]];
const check = (cases: readonly Case[]): void => {
  for (const [document, errors] of cases) compareTexts(refusals(document), errors, JSON.stringify(document));
};
const admission = (kind: string, rest: JsonObject, name = 'x'): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name },
  ...rest,
});
const webhook = (rest: JsonObject): JsonObject => ({
  name: 'a.b.c',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://h' },
  ...rest,
});
const validating = (...webhooks: JsonObject[]): JsonObject => admission('ValidatingWebhookConfiguration', { webhooks });
const W = 'webhooks[0]';
const FORM = '; desired format: https://host[/path]';

test('webhooks: refused fields', () => {
  const one = (rest: JsonObject): JsonObject => validating(webhook(rest));
  check([
    [
      validating({ name: '' }),
      [
        `${W}.name: Required value`,
        `${W}.sideEffects: Required value: must specify one of None, NoneOnDryRun`,
        `${W}.clientConfig: Required value: exactly one of url or service is required`,
        `${W}.admissionReviewVersions: Required value: must specify one of v1, v1beta1`,
      ],
    ],
    [
      one({ name: 'a.b' }),
      [`${W}.name: Invalid value: "a.b": should be a domain with at least three segments separated by dots`],
    ],
    [
      one({ failurePolicy: 'A', matchPolicy: 'B', sideEffects: 'Some', timeoutSeconds: 31 }),
      [
        `${W}.failurePolicy: Unsupported value: "A": supported values: "Fail", "Ignore"`,
        `${W}.matchPolicy: Unsupported value: "B": supported values: "Equivalent", "Exact"`,
        `${W}.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`,
        `${W}.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`,
      ],
    ],
    [
      one({ admissionReviewVersions: ['v2', 'v2', 'A'] }),
      [
        `${W}.admissionReviewVersions[1]: Invalid value: "v2": duplicate version`,
        `${W}.admissionReviewVersions[2]: Invalid value: "A": a DNS-1035 label must…`,
        `${W}.admissionReviewVersions: Invalid value: []string{"v2", "v2", "A"}: must include at least one of v1, v1beta1`,
      ],
    ],
    [validating(webhook({}), webhook({})), ['webhooks[1].name: Duplicate value: "a.b.c"']],
    [
      one({
        matchConditions: [
          { name: 'a b', expression: ' ' },
          { name: 'c', expression: 'd' },
          { name: 'c', expression: 'd' },
        ],
      }),
      [
        `${W}.matchConditions[0].expression: Required value`,
        `${W}.matchConditions[0].name: Invalid value: "a b": name part must…`,
        `${W}.matchConditions[2].name: Duplicate value: "c"`,
      ],
    ],
    [
      admission('MutatingWebhookConfiguration', { webhooks: [webhook({ reinvocationPolicy: 'A' })] }),
      [`${W}.reinvocationPolicy: Unsupported value: "A": supported values: "IfNeeded", "Never"`],
    ],
  ]);
  const old = validating(webhook({}));
  assert.deepEqual(changeRefusals(old, one({ timeoutSeconds: 31 })), [
    `${W}.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`,
  ]);
  assert.deepEqual(row(old), { Name: 'x', Webhooks: 1, Age: '<unknown>' });
});

test('webhooks: addresses', () => {
  const at = (clientConfig: JsonObject): JsonObject => validating(webhook({ clientConfig }));
  const url = (text: string): JsonObject => at({ url: text });
  const U = `${W}.clientConfig.url: `;
  const S = `${W}.clientConfig.service`;
  const service = (rest: JsonObject): JsonObject => at({ service: { namespace: 'n', name: 's', ...rest } });
  const steps = (path: string, ...details: string[]): Case => [
    service({ path }),
    details.map((detail) => `${S}.path: Invalid value: "${path}": ${detail}`),
  ];
  check([
    [url('http://h'), [`${U}Invalid value: "http": 'https' is the only allowed URL scheme${FORM}`]],
    [
      url('foo'),
      [
        `${U}Invalid value: "": 'https' is the only allowed URL scheme${FORM}`,
        `${U}Invalid value: "": host must be specified${FORM}`,
      ],
    ],
    [url(':foo'), [`${U}Required value: url must be a valid URL: parse ":foo": missing protocol scheme${FORM}`]],
    [
      url('https://h:x'),
      [`${U}Required value: url must be a valid URL: parse "https://h:x": invalid port ":x" after host${FORM}`],
    ],
    [
      url('https://u:p@h/p?q=1#f'),
      [
        `${U}Invalid value: "u:p": user information is not permitted in the URL`,
        `${U}Invalid value: "f": fragments are not permitted in the URL`,
        `${U}Invalid value: "q=1": query parameters are not permitted in the URL`,
      ],
    ],
    // Kubernetes confuses the two names here.
    [service({ name: '' }), [`${S}.namespace: Required value: service namespace is required`]],
    [service({ namespace: '' }), [`${S}.name: Required value: service name is required`]],
    [service({ port: 0 }), [`${S}.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive`]],
    steps('/'),
    steps('//', 'segment[0] may not be empty'),
    steps('/a//b/', 'segment[1] may not be empty'),
    steps(
      '/A',
      "segment[0]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
  ]);
});

test('webhooks: rules', () => {
  const R = `${W}.rules[0]`;
  const rule = (rest: JsonObject): JsonObject =>
    validating(
      webhook({ rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], ...rest }] }),
    );
  const resources = (...names: string[]): JsonObject => rule({ resources: names });
  check([
    [
      validating(webhook({ rules: [{}] })),
      [
        `${R}.operations: Required value`,
        `${R}.apiGroups: Required value`,
        `${R}.apiVersions: Required value`,
        `${R}.resources: Required value`,
      ],
    ],
    [
      rule({ operations: ['*', 'A'], apiGroups: ['*', 'a'], apiVersions: ['*', ''], scope: 'B' }),
      [
        `${R}.operations: Invalid value: []admissionregistration.OperationType{"*", "A"}: if '*' is present, must not specify other operations`,
        `${R}.operations[1]: Unsupported value: "A": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
        `${R}.apiGroups: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other API groups`,
        `${R}.apiVersions: Invalid value: []string{"*", ""}: if '*' is present, must not specify other API versions`,
        `${R}.apiVersions[1]: Required value`,
        `${R}.scope: Unsupported value: "B": supported values: "*", "Cluster", "Namespaced"`,
      ],
    ],
    [
      resources('*/*', 'pods'),
      [`${R}.resources: Invalid value: []string{"*/*", "pods"}: if '*/*' is present, must not specify other resources`],
    ],
    [
      resources('*', 'pods'),
      [
        `${R}.resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources without subresources`,
      ],
    ],
    [
      resources('pods/*', 'pods/log', ''),
      [
        `${R}.resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
        `${R}.resources[2]: Required value`,
      ],
    ],
    [
      resources('*/scale', 'pods/scale'),
      [`${R}.resources[1]: Invalid value: "pods/scale": if '*/scale' is present, must not specify pods/scale`],
    ],
  ]);
});

test('admission policies and their bindings: refused fields', () => {
  const match = { resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }] };
  const policy = (spec: JsonObject): JsonObject =>
    admission('ValidatingAdmissionPolicy', {
      spec: { matchConstraints: match, validations: [{ expression: 'true' }], ...spec },
    });
  const V = 'spec.validations[0]';
  check([
    [
      admission('ValidatingAdmissionPolicy', { spec: {} }),
      [
        'spec.matchConstraints: Required value',
        'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
        'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
      ],
    ],
    [
      policy({ failurePolicy: 'A', paramKind: {}, matchConstraints: {} }),
      [
        'spec.failurePolicy: Unsupported value: "A": supported values: "Fail", "Ignore"',
        'spec.paramKind.apiVersion: Required value',
        'spec.paramKind.kind: Required value',
        'spec.matchConstraints.resourceRules: Required value',
      ],
    ],
    [
      policy({ paramKind: { apiVersion: 'a/b/c', kind: '1' } }),
      [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        'spec.paramKind.kind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label must…',
      ],
    ],
    [
      policy({ paramKind: { apiVersion: 'A/', kind: 'K' } }),
      [
        'spec.paramKind.apiVersion: Invalid value: "A": a lowercase RFC 1123 subdomain…',
        'spec.paramKind.apiVersion: Invalid value: "A/": version must be specified',
      ],
    ],
    [
      policy({
        variables: [
          { name: 'let', expression: '' },
          { name: '', expression: 'a' },
        ],
      }),
      [
        'spec.variables[0].name: Invalid value: "let": name is not a valid CEL identifier',
        'spec.variables[0].expression: Required value: expression is not specified',
        'spec.variables[1].name: Required value: name is not specified',
      ],
    ],
    [
      policy({ validations: [{ expression: '', message: ' ', messageExpression: ' ', reason: 'Unauthorized' }] }),
      [
        `${V}.expression: Required value: expression is not specified`,
        `${V}.messageExpression: Invalid value: " ": must be non-empty if specified`,
        `${V}.message: Invalid value: " ": message must be non-empty if specified`,
        `${V}.reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`,
      ],
    ],
    [
      policy({ validations: [{ expression: 'true', message: 'a\nb' }] }),
      [`${V}.message: Invalid value: "a\\nb": message must not contain line breaks`],
    ],
    [
      policy({
        auditAnnotations: [
          { key: '', valueExpression: '' },
          { key: 'k', valueExpression: 'a' },
          { key: 'k', valueExpression: 'a' },
        ],
      }),
      [
        'spec.auditAnnotations[0].key: Invalid value: "x/": name part must be non-empty',
        'spec.auditAnnotations[0].key: Invalid value: "x/": name part must consist…',
        'spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
        'spec.auditAnnotations[2].key: Duplicate value: "k"',
      ],
    ],
  ]);
  const binding = (spec: JsonObject): JsonObject =>
    admission('ValidatingAdmissionPolicyBinding', { spec: { policyName: 'p', validationActions: ['Deny'], ...spec } });
  const named = { name: 'n', parameterNotFoundAction: 'Allow' };
  check([
    [
      admission('ValidatingAdmissionPolicyBinding', { spec: {} }),
      [
        'spec.policyName: Required value',
        'spec.validationActions: Required value: at least one validation action is required',
      ],
    ],
    [
      binding({ paramRef: {} }),
      [
        'spec.paramRef: Required value: one of name or selector must be specified',
        'spec.paramRef.parameterNotFoundAction: Required value',
      ],
    ],
    [
      binding({ paramRef: { ...named, selector: {} } }),
      [
        'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
      ],
    ],
    [
      binding({ paramRef: { ...named, parameterNotFoundAction: 'A' } }),
      ['spec.paramRef.parameterNotFoundAction: Unsupported value: "A": supported values: "Deny", "Allow"'],
    ],
    [
      binding({ validationActions: ['Deny', 'Warn', 'Warn', 'A'] }),
      [
        'spec.validationActions[2]: Duplicate value: "Warn"',
        'spec.validationActions[3]: Unsupported value: "A": supported values: "Audit", "Deny", "Warn"',
        'spec.validationActions: Invalid value: []admissionregistration.ValidationAction{"Deny", "Warn", "Warn", "A"}: must not contain both Deny and Warn…',
      ],
    ],
    [
      binding({ matchResources: { resourceRules: [{ ...match.resourceRules[0], resourceNames: ['a', 'a', 'b/c'] }] } }),
      [
        'spec.matchResources.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
        'spec.matchResources.resourceRules[0].resourceNames[2]: Invalid value: "b/c": may not contain \'/\'',
      ],
    ],
  ]);
});

const flow = (kind: string, spec: JsonObject, name = 'x'): JsonObject => ({
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  kind,
  metadata: { name },
  spec,
});

test('flow schemas: refused fields', () => {
  const schema = (spec: JsonObject, name = 'x'): JsonObject =>
    flow('FlowSchema', { priorityLevelConfiguration: { name: 'p' }, ...spec }, name);
  const user = { kind: 'User', user: { name: 'u' } };
  const whole = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] };
  const subject = (value: JsonObject): JsonObject => schema({ rules: [{ subjects: [value], resourceRules: [whole] }] });
  const resource = (value: JsonObject): JsonObject =>
    schema({ rules: [{ subjects: [user], resourceRules: [{ ...whole, ...value }] }] });
  const urls = (...nonResourceURLs: string[]): JsonObject =>
    schema({ rules: [{ subjects: [user], nonResourceRules: [{ verbs: ['get'], nonResourceURLs }] }] });
  const S = 'spec.rules[0].subjects[0]';
  const R = 'spec.rules[0].resourceRules[0]';
  const N = 'spec.rules[0].nonResourceRules[0].nonResourceURLs';
  check([
    [
      schema({ matchingPrecedence: 1 }),
      ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
    ],
    [
      schema({ matchingPrecedence: 1 }, 'exempt'),
      [
        `spec: Invalid value: flowcontrol.FlowSchemaSpec{PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference{Name:"p"}, MatchingPrecedence:1, DistinguisherMethod:(*flowcontrol.FlowDistinguisherMethod)(nil), Rules:[]flowcontrol.PolicyRulesWithSubjects(nil)}: spec of 'exempt' must equal the fixed value`,
      ],
    ],
    [
      schema({ matchingPrecedence: 10_001, distinguisherMethod: { type: 'A' }, priorityLevelConfiguration: {} }),
      [
        'spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000',
        'spec.distinguisherMethod.type: Unsupported value: flowcontrol.FlowDistinguisherMethod{Type:"A"}: supported values: "ByNamespace", "ByUser"',
        'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
      ],
    ],
    [
      schema({ rules: [{}] }),
      [
        'spec.rules[0].subjects: Required value: subjects must contain at least one value',
        'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
      ],
    ],
    [
      subject({ kind: 'A' }),
      [`${S}.kind: Unsupported value: "A": supported values: "Group", "ServiceAccount", "User"`],
    ],
    [
      subject({ kind: 'Group', user: { name: 'u' }, serviceAccount: { name: 'a', namespace: 'b' } }),
      [
        `${S}.group: Required value: group is required when subject kind is 'Group'`,
        `${S}.serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'`,
        `${S}.user: Forbidden: user is forbidden when subject kind is not 'User'`,
      ],
    ],
    [
      subject({ kind: 'ServiceAccount', serviceAccount: { name: 'A', namespace: '' } }),
      [
        `${S}.serviceAccount.name: Invalid value: "A": a lowercase RFC 1123 subdomain…`,
        `${S}.serviceAccount.namespace: Required value: must specify namespace for service account`,
      ],
    ],
    [
      resource({ verbs: ['*', 'get'], apiGroups: ['*', 'a'], resources: [], namespaces: [] }),
      [
        `${R}.verbs: Invalid value: []string{"*", "get"}: if '*' is present, must not specify other verbs`,
        `${R}.apiGroups: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other api groups`,
        `${R}.resources: Required value: resource rules must supply at least one resource`,
        `${R}.namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
      ],
    ],
    [
      resource({ verbs: ['foo'], namespaces: ['A'] }),
      [
        `${R}.verbs: Unsupported value: []string{"foo"}: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`,
        `${R}.namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label…`,
      ],
    ],
    [
      urls('', '/', 'a', '/a b', '/a//b', '/*a', '/a/*'),
      [
        `${N}[0]: Invalid value: "": must not be empty`,
        `${N}[2]: Invalid value: "a": must start with slash`,
        `${N}[3]: Invalid value: "/a b": must not contain white-space`,
        `${N}[4]: Invalid value: "/a//b": must not contain double slash`,
        `${N}[5]: Invalid value: "/*a": wildcard can only do suffix matching`,
      ],
    ],
  ]);
  const status = { conditions: [{ type: 'A' }, { type: 'A' }, {}] };
  assert.deepEqual(changeRefusals(schema({}), { ...schema({}), status }, 'status'), [
    'status.conditions[1].type: Duplicate value: "A"',
    'status.conditions[2].type: Required value: must not be empty',
  ]);
  assert.deepEqual(row(schema({})), {
    Name: 'x',
    PriorityLevel: 'p',
    MatchingPrecedence: 1000,
    DistinguisherMethod: '<none>',
    Age: '<unknown>',
    MissingPL: '?',
  });
});

test('priority levels: refused fields', () => {
  const level = (spec: JsonObject, name = 'x'): JsonObject => flow('PriorityLevelConfiguration', spec, name);
  const limited = (value: JsonObject): JsonObject =>
    level({ type: 'Limited', limited: { limitResponse: { type: 'Reject' }, ...value } });
  const queues = (queuing: JsonObject): JsonObject => limited({ limitResponse: { type: 'Queue', queuing } });
  const Q = 'spec.limited.limitResponse.queuing';
  const only = "type must be 'Exempt' if and only if name is 'exempt'";
  const fixed = (fields: string): string =>
    `spec: Invalid value: flowcontrol.PriorityLevelConfigurationSpec{${fields}, Exempt:(*flowcontrol.ExemptPriorityLevelConfiguration)(nil)}: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value`;
  check([
    [level({ type: 'Exempt' }), [`spec.type: Invalid value: "Exempt": ${only}`]],
    [
      level({ type: 'Exempt', limited: { limitResponse: { type: 'Reject' } } }, 'exempt'),
      [
        'spec.limited: Forbidden: must be nil if the type is not Limited',
        fixed('Type:"Exempt", Limited:(*flowcontrol.LimitedPriorityLevelConfiguration)(0xc000000000)'),
      ],
    ],
    [
      level({ type: 'A' }, 'exempt'),
      [
        `spec.type: Invalid value: "A": ${only}`,
        'spec.type: Unsupported value: "A": supported values: "Exempt", "Limited"',
        fixed('Type:"A", Limited:(*flowcontrol.LimitedPriorityLevelConfiguration)(nil)'),
      ],
    ],
    [level({ type: 'Exempt', exempt: { nominalConcurrencyShares: 3 } }, 'exempt'), []],
    [
      level({ type: 'Limited', limited: { limitResponse: { type: 'Reject' } } }, 'catch-all'),
      [
        `spec: Invalid value: flowcontrol.PriorityLevelConfigurationSpec{Type:"Limited", Limited:(*flowcontrol.LimitedPriorityLevelConfiguration)(0xc000000000), Exempt:(*flowcontrol.ExemptPriorityLevelConfiguration)(nil)}: spec of 'catch-all' must equal the fixed value`,
      ],
    ],
    [
      level({ type: 'Limited', exempt: {} }),
      [
        'spec.exempt: Forbidden: must be nil if the type is Limited',
        'spec.limited: Required value: must not be empty when type is Limited',
      ],
    ],
    [
      limited({ limitResponse: { type: 'A' }, lendablePercent: 101, borrowingLimitPercent: -1 }),
      [
        'spec.limited.limitResponse.type: Unsupported value: "A": supported values: "Queue", "Reject"',
        'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
        'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
      ],
    ],
    [
      queues({ queues: -1, handSize: -1, queueLengthLimit: -1 }),
      [
        `${Q}.queueLengthLimit: Invalid value: -1: must be positive`,
        `${Q}.queues: Invalid value: -1: must be positive`,
        `${Q}.handSize: Invalid value: -1: must be positive`,
      ],
    ],
    // Zero takes the default.
    [
      queues({ queues: 2, handSize: 9, queueLengthLimit: 0 }),
      [`${Q}.handSize: Invalid value: 9: should not be greater than queues (2)`],
    ],
    [queues({ queues: 4, handSize: 5 }), [`${Q}.handSize: Invalid value: 5: should not be greater than queues (4)`]],
    [
      queues({ queues: 512, handSize: 8 }),
      [
        `${Q}.handSize: Invalid value: 8: required entropy bits of deckSize 512 and handSize 8 should not be greater than 60`,
      ],
    ],
  ]);
});

test('the status of flow control and of admission policies changes no metadata', () => {
  const own = { labels: { a: 'b' }, finalizers: ['a/b'] };
  for (const object of [
    flow('FlowSchema', { priorityLevelConfiguration: { name: 'p' } }),
    flow('PriorityLevelConfiguration', { type: 'Limited', limited: {} }),
    admission('ValidatingAdmissionPolicy', { spec: {} }),
  ]) {
    const other = { name: 'x', labels: { a: 'c' }, annotations: { d: 'e' } };
    const status = { conditions: [{ type: 'A', status: 'True' }] };
    const after = replaced(
      { ...object, metadata: { name: 'x', ...own } },
      { ...object, metadata: other, status },
      'status',
    );
    const { labels, annotations, finalizers } = after.metadata;
    assert.deepEqual(
      [labels, annotations, finalizers],
      [own.labels, undefined, own.finalizers],
      JSON.stringify(object),
    );
    assert.ok(JSON.stringify(after).includes('"type":"A"'), JSON.stringify(object));
  }
});
