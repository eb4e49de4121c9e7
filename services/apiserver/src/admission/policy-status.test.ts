import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { coralDefinition, define, until } from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
}

const DEPLOYMENTS: Rule = { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] };

const bodyOf = (name: string, spec: object, rules: readonly Rule[]): object => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules: rules.map((rule) => ({ ...rule, operations: ['*'] })) }, ...spec },
});

interface Warning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** The warnings of the present generation, once they are there. */
async function checked(name: string): Promise<readonly Warning[]> {
  let status: { observedGeneration?: number; typeChecking?: { expressionWarnings?: readonly Warning[] } } = {};
  await until(async () => {
    const policy = await api.call('GET', `${POLICIES}/${name}`);
    status = (policy.at('status') ?? {}) as typeof status;
    return status.observedGeneration === policy.at('metadata.generation');
  });
  assert.notEqual(status.typeChecking, undefined, 'a finished check always leaves typeChecking');
  return status.typeChecking?.expressionWarnings ?? [];
}

async function warningsOf(spec: object, rules: readonly Rule[] = [DEPLOYMENTS]): Promise<readonly Warning[]> {
  const created = await api.call('POST', POLICIES, { body: bodyOf('p', spec, rules) });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  return checked('p');
}

const oneOf = (expression: string): object => ({ validations: [{ expression }] });

test('a policy with correct types has no warnings', async () => {
  assert.deepEqual(await warningsOf(oneOf('object.spec.replicas > 1')), []);
});

test('type errors are reported for the expression and for its message, with the kind', async () => {
  const messageExpression = "'wants replicas > 1, got ' + object.spec.replicas";
  const warnings = await warningsOf({ validations: [{ expression: "object.spec.replicas > '1'", messageExpression }] });
  assert.deepEqual(warnings, [
    {
      fieldRef: 'spec.validations[0].expression',
      warning: `apps/v1, Kind=Deployment: compilation failed: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'
 | object.spec.replicas > '1'
 | .....................^
`,
    },
    {
      fieldRef: 'spec.validations[0].messageExpression',
      warning: `apps/v1, Kind=Deployment: compilation failed: ERROR: <input>:1:28: found no matching overload for '_+_' applied to '(string, int)'
 | ${messageExpression}
 | ...........................^
`,
    },
  ]);
});

test('a changed policy is checked again, and its warnings are removed', async () => {
  assert.match((await warningsOf(oneOf('object.foo == 1')))[0]?.warning ?? '', /undefined field 'foo'/);
  await api.call('PATCH', `${POLICIES}/p`, { body: { spec: oneOf('object.spec.paused == true') } });
  assert.deepEqual(await checked('p'), []);
  const { body } = await api.call('GET', `${POLICIES}/p`);
  const managers = (body as { metadata: { managedFields: { manager: string; operation: string }[] } }).metadata
    .managedFields;
  assert.ok(
    managers.some((each) => each.manager === 'validatingadmissionpolicy-status' && each.operation === 'Update'),
  );
});

test('an expression is checked against each kind, ordered by group and name', async () => {
  const rules = [{ apiGroups: ['', 'apps'], apiVersions: ['v1'], resources: ['pods', 'deployments', 'pods/status'] }];
  const [first, ...others] = await warningsOf(oneOf('object.spec.replicas == object.spec.nodeName.size()'), rules);
  assert.equal(others.length, 0);
  const titles = (first?.warning ?? '').split('\n').filter((line) => line.includes('Kind='));
  assert.deepEqual(
    titles.map((line) => line.replace(/: compilation failed.*:\d+: /, ': ')),
    ["/v1, Kind=Pod: undefined field 'replicas'", "apps/v1, Kind=Deployment: undefined field 'nodeName'"],
  );
});

test('wildcards and unserved kinds are not checked', async () => {
  for (const [index, rule] of [
    { ...DEPLOYMENTS, apiGroups: ['*'] },
    { ...DEPLOYMENTS, apiVersions: ['*'] },
    { ...DEPLOYMENTS, resources: ['*'] },
    { ...DEPLOYMENTS, resources: ['deployments/scale'] },
    { ...DEPLOYMENTS, apiVersions: ['v9'] },
  ].entries()) {
    const name = `p${index}`;
    await api.call('POST', POLICIES, { body: bodyOf(name, oneOf('object.foo == 1'), [rule]) });
    assert.deepEqual(await checked(name), [], JSON.stringify(rule));
  }
});

test('types of variables, parameters, quantities and nullable values are known', async () => {
  const warnings = await warningsOf({
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    variables: [{ name: 'most', expression: 'object.spec.replicas' }],
    validations: [
      { expression: "variables.most < int(params.data['most'])" },
      { expression: 'oldObject == null || object.metadata.labels == oldObject.metadata.labels' },
      { expression: "object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] != null)" },
      { expression: "variables.most == 'x'" },
      { expression: "params.date == 'x'" },
    ],
  });
  assert.deepEqual(
    warnings.map(({ fieldRef, warning }) => [fieldRef.at(17), /:\d+: (.*)\n/.exec(warning)?.[1]]),
    [
      ['3', "found no matching overload for '_==_' applied to '(int, string)'"],
      ['4', "undefined field 'date'"],
    ],
  );
});

test('custom kinds are checked by their schema', async () => {
  await define(api, coralDefinition({ spec: { size: { type: 'integer' } } }));
  const corals = { apiGroups: ['reef.example.com'], apiVersions: ['v1'], resources: ['corals'] };
  const [first, second] = await warningsOf(
    {
      validations: [
        { expression: "object.spec.size > 1 && object.metadata.labels['a'] == 'b'" },
        { expression: 'object.spec.colour == 1' },
      ],
    },
    [corals],
  );
  assert.equal(second, undefined);
  assert.equal(first?.fieldRef, 'spec.validations[1].expression');
  assert.match(first?.warning ?? '', /^reef\.example\.com\/v1, Kind=Coral: .*undefined field 'colour'$/m);
});

test('a kind with a recursive schema is checked, and the warnings of one policy are bounded', async () => {
  const definitions = {
    apiGroups: ['apiextensions.k8s.io'],
    apiVersions: ['v1'],
    resources: ['customresourcedefinitions'],
  };
  const deep = 'object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.all(k, k.size() > 0))';
  const wrong = Array.from({ length: 40 }, () => ({ expression: `object.foo == '${'x'.repeat(5_000)}'` }));
  const warnings = await warningsOf({ validations: [{ expression: deep }, ...wrong] }, [definitions]);
  assert.equal(warnings[0]?.fieldRef, 'spec.validations[1].expression');
  assert.ok(warnings.length > 1 && warnings.length < wrong.length);
});
