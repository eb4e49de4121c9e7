import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { startTestApi, valueAt } from '../testing/fixture.ts';

type Json = Readonly<Record<string, unknown>>;
let version2: Json;
const version3: Record<string, Json> = {};

before(async () => {
  const api = await startTestApi();
  version2 = (await api.call('GET', '/openapi/v2')).at('definitions') as Json;
  for (const name of [
    'api/v1',
    'apis/apps/v1',
    'apis/apiextensions.k8s.io/v1',
    'apis/flowcontrol.apiserver.k8s.io/v1',
  ]) {
    Object.assign(version3, (await api.call('GET', `/openapi/v3/${name}`)).at('components.schemas'));
  }
  await api.stop();
});

/** Texts have a test of their own. */
const withoutText = (schema: unknown): unknown => {
  const { description: _text, ...rest } = schema as Json;
  return rest;
};

const CORE = 'io.k8s.api.core.v1';
const APPS = 'io.k8s.api.apps.v1';
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const CRD = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
const FLOW = 'io.k8s.api.flowcontrol.v1';
const reference = (name: string): Json => ({ allOf: [{ $ref: `#/components/schemas/${name}` }] });
const text = { type: 'string' };

const fields: readonly (readonly [title: string, struct: string, field: string, schema: Json])[] = [
  ['the given value', `${CORE}.ContainerPort`, 'protocol', { ...text, default: 'TCP' }],
  ['the zero of what is required', `${CORE}.Container`, 'name', { ...text, default: '' }],
  ['nothing, of an optional scalar', `${CORE}.Container`, 'image', text],
  [
    'nothing, of a list',
    `${CORE}.Container`,
    'args',
    { type: 'array', items: { ...text, default: '' }, 'x-kubernetes-list-type': 'atomic' },
  ],
  ['nothing, of a pointer', `${CORE}.Container`, 'lifecycle', reference(`${CORE}.Lifecycle`)],
  [
    'an empty object, of a struct by value',
    `${CORE}.Container`,
    'resources',
    { ...reference(`${CORE}.ResourceRequirements`), default: {} },
  ],
  ['nothing, of a required pointer', `${APPS}.DeploymentSpec`, 'selector', reference(`${META}.LabelSelector`)],
  [
    'nothing, of content without a type',
    `${APPS}.ControllerRevision`,
    'data',
    reference('io.k8s.apimachinery.pkg.runtime.RawExtension'),
  ],
];
for (const [title, struct, field, schema] of fields) {
  test(`the default in version 3 is ${title}`, () => {
    assert.deepEqual(withoutText((valueAt(version3[struct], 'properties') as Json)[field]), schema);
  });
}

test('version 2 has no defaults', () => {
  assert.equal(JSON.stringify(version2[`${CORE}.Container`]).includes('"default"'), false);
});

test('types with arbitrary content have names', () => {
  const props = valueAt(version2[`${CRD}.JSONSchemaProps`], 'properties') as Json;
  assert.deepEqual(withoutText(props['items']), { $ref: `#/definitions/${CRD}.JSONSchemaPropsOrArray` });
  assert.deepEqual(withoutText(props['enum']), {
    type: 'array',
    items: { $ref: `#/definitions/${CRD}.JSON` },
    'x-kubernetes-list-type': 'atomic',
  });
  assert.deepEqual(version2[`${CRD}.JSON`], {});
  assert.deepEqual(version3['io.k8s.apimachinery.pkg.util.intstr.IntOrString'], {
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  });
});

test('merge extensions are the same as in Kubernetes', () => {
  const fieldOf = (struct: string, field: string): unknown => (valueAt(version2[struct], 'properties') as Json)[field];
  assert.equal(valueAt(fieldOf(`${CORE}.PodList`, 'items'), 'x-kubernetes-list-type'), undefined);
  assert.equal(valueAt(fieldOf(`${CORE}.PersistentVolumeSpec`, 'claimRef'), 'x-kubernetes-map-type'), 'granular');
  assert.deepEqual(valueAt(version2[`${FLOW}.Subject`], 'x-kubernetes-unions'), [
    {
      discriminator: 'kind',
      'fields-to-discriminateBy': { group: 'Group', serviceAccount: 'ServiceAccount', user: 'User' },
    },
  ]);
});

test('a kind declares its group, version and kind wherever it occurs, and DeleteOptions declare every group', () => {
  const kinds = 'x-kubernetes-group-version-kind';
  const claim = version3[`${CORE}.PersistentVolumeClaim`];
  assert.deepEqual(claim?.[kinds], [{ group: '', kind: 'PersistentVolumeClaim', version: 'v1' }]);
  const options = version3[`${META}.DeleteOptions`]?.[kinds] as readonly Json[];
  assert.deepEqual(options[0], { group: '', kind: 'DeleteOptions', version: 'v1' });
  assert.ok(options.some(({ group, version }) => group === 'apps' && version === 'v1'));
  assert.equal(version2[`${CORE}.PodSpec`]?.[kinds as never], undefined);
});
