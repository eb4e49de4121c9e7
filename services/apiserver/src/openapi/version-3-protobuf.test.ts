import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInCatalog } from '../endpoints/catalog.ts';
import { VERSION } from '../endpoints/version.ts';
import { all, entry, type Message, on, read, texts } from '../testing/wire-messages.ts';
import { whole } from '../turns/parts.ts';
import { documentNames3, documentOf3 } from './version-3-documents.ts';
import { openApi3Protobuf } from './version-3-protobuf.ts';

const apps = documentOf3(builtInCatalog(), 'apis/apps/v1');
const PREFIX = '#/components/schemas/';
const DEPLOYMENT = 'io.k8s.api.apps.v1.Deployment';

test('operations contain their parameters and answers', () => {
  const document = read(whole(openApi3Protobuf(apps)));
  assert.deepEqual(texts(document, 1), ['3.0.0']);
  assert.deepEqual([texts(on(document, 2), 1), texts(on(document, 2), 6)], [['Kubernetes'], [VERSION.gitVersion]]);
  const path = entry(on(document, 4), '/apis/apps/v1/namespaces/{namespace}/deployments/{name}');
  const get = on(path, 4);
  assert.deepEqual([texts(get, 1), texts(get, 5)], [['apps_v1'], ['readAppsV1NamespacedDeployment']]);
  const answer = entry(on(get, 8), '200', 2);
  const answered = on(entry(on(answer, 1, 3), 'application/json'), 1, 2);
  assert.deepEqual(texts(answered, 1), [`${PREFIX}${DEPLOYMENT}`]);
  const names = all(path, 13).map((parameter) => texts(on(parameter, 1), 1)[0]);
  assert.deepEqual(names, ['name', 'namespace', 'pretty']);
  const body = on(path, 5, 7, 1);
  assert.deepEqual(body.get(3), [1], 'required');
  assert.deepEqual(texts(on(entry(on(body, 2), '*/*'), 1, 2), 1), [`${PREFIX}${DEPLOYMENT}`]);
  assert.deepEqual(texts(on(entry(get, 'x-kubernetes-action', 13)), 2), ['"get"\n']);
});

test('schemas contain their fields, including references', () => {
  const document = read(whole(openApi3Protobuf(apps)));
  const schemas = on(document, 5, 1);
  const deployment = on(entry(schemas, DEPLOYMENT), 1);
  assert.deepEqual(texts(deployment, 25), ['object']);
  const spec = on(entry(on(deployment, 31), 'spec'), 1, 26, 2);
  assert.deepEqual(texts(spec, 1), [`${PREFIX}io.k8s.api.apps.v1.DeploymentSpec`]);
  const conditions = on(entry(on(entry(schemas, 'io.k8s.api.apps.v1.DeploymentStatus'), 1, 31), 'conditions'), 1);
  assert.deepEqual(texts(on(conditions, 30, 1, 1, 26, 2), 1), [`${PREFIX}io.k8s.api.apps.v1.DeploymentCondition`]);
  assert.deepEqual(texts(entry(conditions, 'x-kubernetes-list-map-keys', 36), 2), ['["type"]\n']);
  const replicas = on(entry(on(entry(schemas, 'io.k8s.api.apps.v1.DeploymentSpec'), 1, 31), 'replicas'), 1);
  assert.deepEqual([texts(replicas, 25), texts(replicas, 35)], [['integer'], ['int32']]);
  const meta = 'io.k8s.apimachinery.pkg';
  const defaults = (schema: string, field: string): Message =>
    on(entry(on(entry(schemas, schema), 1, 31), field), 1, 33);
  assert.deepEqual(texts(defaults('io.k8s.api.core.v1.ContainerPort', 'protocol'), 3), ['TCP']);
  assert.deepEqual(texts(defaults(`${meta}.apis.meta.v1.OwnerReference`, 'name'), 3), ['']);
  assert.deepEqual(defaults('io.k8s.api.core.v1.AzureDiskVolumeSource', 'readOnly').get(2), [0]);
  const number = on(entry(schemas, `${meta}.util.intstr.IntOrString`), 1);
  assert.deepEqual(
    all(number, 27).map((either) => texts(on(either, 1), 25)),
    [['integer'], ['string']],
  );
});

test('every document can be encoded: each of its members has a field', () => {
  for (const name of documentNames3(builtInCatalog()))
    assert.ok(whole(openApi3Protobuf(documentOf3(builtInCatalog(), name))).length > 50, name);
});
