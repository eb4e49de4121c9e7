import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { APPLY_PATCH, type Fields, GoClient, type GoWatch, JSON_PATCH, must } from '../support/go-client.ts';
import { waitFor } from '../support/wait.ts';
import { walkCluster } from '../support/walked-cluster.ts';
import {
  ALLOW_ALL,
  DEFINITIONS,
  type Definition,
  define,
  defineWatchable,
  definitionOf,
  instanceOf,
  resourcesOf,
  undefine,
  versionOf,
} from '../support/walked-definitions.ts';
import { createNamespace } from '../support/walked-webhooks.ts';

/** The conformance tests of custom resources and of policies that need no webhook server, call by call. */

let client: GoClient;

walkCluster(['--memory', '--hollow-nodes', '1'], (cluster) => {
  ({ client } = cluster);
});

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const GROUP = 'mygroup.example.com';
let count = 0;
const simple = (versions: readonly Fields[] = [versionOf('v1beta1')], labels: Fields = {}): Definition =>
  definitionOf({ group: GROUP, name: `foo${count++}a`, versions, scope: 'Cluster', labels });

describe('CustomResourceDefinition', { concurrency: 8 }, () => {
  test('CustomResourceDefinition Watch: creation, change and deletion of objects by name', async () => {
    const definition = await defineWatchable(client, noxus);
    const url = resourcesOf(definition, 'v1beta1');
    const names = ['name1', 'name2'] as const;
    const byName = (name: string) =>
      client.watch(`${url}?fieldSelector=metadata.name%3D${name}&timeoutSeconds=600&watch=true`);
    const watches = [await byName(names[0]), await byName(names[1])] as const;
    const num = { num1: 2 ** 63, num2: 1_000_000 };
    const made: Fields[] = [];
    for (const name of names) {
      const instance = { ...instanceOf(definition, 'v1beta1', name), content: { key: 'value' }, num };
      made.push((await must(201, client.dynamic('POST', url, instance))).object);
      assert.deepEqual(
        [made.at(-1)?.['apiVersion'], made.at(-1)?.['kind']],
        [`${GROUP}/v1beta1`, 'WishIHadChosenNoxu'],
      );
    }
    for (const name of names)
      await must(200, client.patch(`${url}/${name}`, JSON_PATCH, [{ op: 'add', path: '/dummy', value: 'test' }]));
    for (const name of names) await must(200, client.dynamic('DELETE', `${url}/${name}`));
    for (const [index, watch] of watches.entries()) {
      await waitFor('the deletion is seen', () => watch.events.length === 3);
      assert.deepEqual(
        seen(watch),
        ['ADDED', 'MODIFIED', 'DELETED'].map((type) => [type, names[index]]),
      );
      assert.deepEqual(watch.events[0]?.object, made[index]);
      watch.close();
    }
    await undefine(client, definition);
  });

  test('a definition is created and deleted', async () => {
    await undefine(client, await define(client, simple()));
  });

  test('definitions are listed by label and deleted as a collection', async () => {
    const labels = { 'e2e-list-test-uuid': 'walked' };
    const labelled: Definition[] = [];
    for (let index = 0; index < 10; index++) labelled.push(await define(client, simple(undefined, labels)));
    const other = await define(client, simple());
    const selected = `${DEFINITIONS}?labelSelector=e2e-list-test-uuid%3Dwalked`;
    const listed = (await must(200, client.typed('GET', selected))).at('items') as readonly Definition[];
    const specs = (definitions: readonly Definition[]) =>
      new Map(definitions.map(({ metadata, spec }) => [metadata.name, spec]));
    assert.deepEqual(specs(listed), specs(labelled));
    await must(200, client.typed('DELETE', selected));
    for (const { spec } of labelled) {
      await waitFor('discovery has lost it', async () => {
        const answer = await client.dynamic('GET', `/apis/${GROUP}/v1beta1`);
        assert.equal(answer.status, 200);
        return (answer.at('resources') as readonly { name: string }[]).every(({ name }) => name !== spec.names.plural);
      });
    }
    await must(200, client.typed('GET', `${DEFINITIONS}/${other.metadata.name}`));
    await undefine(client, other);
  });

  test('the status of a definition is read, updated and patched', async () => {
    const definition = await define(client, simple());
    const url = `${DEFINITIONS}/${definition.metadata.name}`;
    const updated = await waitFor('no other writer comes between', async () => {
      const { object } = await must(200, client.dynamic('GET', `${url}/status`));
      assert.deepEqual(object['spec'], definition.spec);
      const status = object['status'] as { conditions: readonly Fields[] };
      const own = { type: '', status: '', lastTransitionTime: null, message: 'updated' };
      const changed = { ...object, status: { ...status, conditions: [...status.conditions, own] } };
      const answer = await client.typed('PUT', `${url}/status`, changed);
      return answer.status === 409 ? undefined : answer;
    });
    assert.equal(updated.status, 200, updated.bytes.toString());
    assert.deepEqual(messages(updated.at('status.conditions')).at(-1), [undefined, undefined, 'updated']);
    const patched = await must(
      200,
      client.patch(`${url}/status`, JSON_PATCH, [
        { op: 'add', path: '/status/conditions', value: [{ message: 'patched' }] },
      ]),
    );
    assert.deepEqual(messages(patched.at('status.conditions')), [[undefined, undefined, 'patched']]);
    await undefine(client, definition);
  });

  test('discovery documents contain definitions', async () => {
    const groups = (await must(200, client.typed('GET', '/apis'))).at('groups') as readonly {
      name: string;
      versions: readonly { version: string }[];
    }[];
    const group = groups.find(({ name }) => name === 'apiextensions.k8s.io');
    assert.ok(group?.versions.some(({ version }) => version === 'v1'));
    assert.equal(
      (await must(200, client.typed('GET', '/apis/apiextensions.k8s.io'))).at('name'),
      'apiextensions.k8s.io',
    );
    const version = await must(200, client.typed('GET', '/apis/apiextensions.k8s.io/v1'));
    assert.equal(version.at('groupVersion'), 'apiextensions.k8s.io/v1');
    assert.ok(
      (version.at('resources') as readonly { name: string }[]).some(({ name }) => name === 'customresourcedefinitions'),
    );
  });

  test('custom resources get defaults in requests and from the store', async () => {
    const properties = { a: { type: 'string' }, b: { type: 'string' } };
    const schema = { openAPIV3Schema: { ...ALLOW_ALL.openAPIV3Schema, properties } };
    const definition = await define(client, simple([versionOf('v1beta1', schema)]));
    const url = resourcesOf(definition, 'v1beta1');
    const own = `${DEFINITIONS}/${definition.metadata.name}`;
    const at = (name: string) => `/spec/versions/0/schema/openAPIV3Schema/properties/${name}/default`;
    await must(201, client.dynamic('POST', url, instanceOf(definition, 'v1beta1', 'cr-1')));
    await must(200, client.patch(own, JSON_PATCH, [{ op: 'add', path: at('a'), value: 'A' }]));
    await waitFor(
      'a has its default',
      async () => (await must(200, client.dynamic('GET', `${url}/cr-1`))).at('a') === 'A',
    );
    const second = await must(201, client.dynamic('POST', url, instanceOf(definition, 'v1beta1', 'cr-2')));
    assert.equal(second.at('a'), 'A');
    await must(
      200,
      client.patch(own, JSON_PATCH, [
        { op: 'remove', path: at('a') },
        { op: 'add', path: at('b'), value: 'B' },
      ]),
    );
    await waitFor('b has its default, and a stays', async () => {
      const { object } = await must(200, client.dynamic('GET', `${url}/cr-2`));
      assert.equal(object['a'], 'A');
      return object['b'] === 'B';
    });
    await undefine(client, definition);
  });
});

const noxus = definitionOf({
  group: GROUP,
  name: 'noxu',
  scope: 'Cluster',
  versions: [versionOf('v1beta1')],
  names: {
    singular: 'nonenglishnoxu',
    kind: 'WishIHadChosenNoxu',
    shortNames: ['foo', 'bar', 'abc', 'def'],
    listKind: 'NoxuItemList',
    categories: ['all'],
  },
});

const seen = ({ events }: GoWatch): unknown => events.map(({ type, object }) => [type, object.metadata.name]);
const messages = (conditions: unknown): readonly unknown[] =>
  (conditions as readonly Fields[]).map(({ type, status, message }) => [
    type || undefined,
    status || undefined,
    message,
  ]);

describe('FieldValidation of custom resources', { concurrency: 8 }, () => {
  const ports = {
    type: 'array',
    'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
    'x-kubernetes-list-type': 'map',
    items: {
      type: 'object',
      properties: {
        containerPort: { format: 'int32', type: 'integer' },
        hostIP: { type: 'string' },
        hostPort: { format: 'int32', type: 'integer' },
        name: { type: 'string' },
        protocol: { type: 'string' },
      },
      required: ['containerPort', 'protocol'],
    },
  };
  const properties = {
    foo: { type: 'string' },
    cronSpec: { type: 'string', pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$' },
    ports,
  };
  const template = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    properties: {
      metadata: { type: 'object', properties: { name: { type: 'string' } } },
      spec: { type: 'object' },
    },
  };
  const open = { 'x-kubernetes-preserve-unknown-fields': true };
  const schemaOf = (spec: Fields): Fields => ({
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', ...spec } } },
  });
  const lines = ['  cronSpec: "* * * * */5"', '  ports:', '  - name: x', '    containerPort: 80', '    protocol: TCP'];

  /** Applies a manifest to an object that is not there yet, in strict validation. */
  async function applied(
    schema: Fields,
    before: readonly string[],
    spec: readonly string[],
  ): Promise<{ status: number; text: string }> {
    const status = { subresources: { status: {} } };
    const versions = [versionOf('v1beta1', schema, { storage: false, ...status }), versionOf('v1', schema, status)];
    const definition = await defineWatchable(client, simple(versions));
    const head = [
      '',
      `apiVersion: ${GROUP}/v1beta1`,
      `kind: ${definition.spec.names.kind}`,
      'metadata:',
      '  name: mytest',
    ];
    const manifest = [...head, ...before, 'spec:', ...spec, ...lines].join('\n');
    const url = `${resourcesOf(definition, 'v1beta1')}/mytest?fieldManager=field_validation_mgr&fieldValidation=Strict`;
    const answer = await client.patch(url, APPLY_PATCH, manifest);
    await undefine(client, definition);
    return { status: answer.status, text: answer.bytes.toString() };
  }

  test('a valid object is applied', async () => {
    assert.equal((await applied(schemaOf({ properties }), [], ['  foo: foo1'])).status, 201);
  });

  test('unknown fields are applied without a schema', async () => {
    assert.equal((await applied(ALLOW_ALL, [], ['  unknown: uk1'])).status, 201);
  });

  test('unknown fields are refused by a schema', async () => {
    const { text } = await applied(schemaOf({ properties }), ['unknownField: unknown'], ['  foo: foo1']);
    assert.ok(text.includes('.unknownField: field not declared in schema'), text);
  });

  test('unknown metadata is refused, at the root and in an embedded object', async () => {
    const embedded = [
      '  template:',
      '    apiversion: foo/v1',
      '    kind: Sub',
      '    metadata:',
      '        unknownSubMeta: unknown',
      '        name: subobject',
      '        namespace: default',
      '  foo: foo1',
    ];
    const { text } = await applied(
      schemaOf({ properties: { ...properties, template }, ...open }),
      ['  unknownMeta: unknown'],
      embedded,
    );
    assert.match(
      text,
      /\.spec\.template\.metadata\.unknownSubMeta: field not declared in schema|\.metadata\.unknownMeta: field not declared in schema/,
    );
  });

  test('a duplicate field is refused, also where unknown fields are preserved', async () => {
    const { text } = await applied(
      schemaOf({ properties, ...open }),
      [],
      ['  unknown: uk1', '  foo: foo1', '  foo: foo2'],
    );
    assert.ok(text.includes('line 9: key \\"foo\\" already set in map'), text);
  });
});

describe('AggregatedDiscovery', { concurrency: 8 }, () => {
  const testCrd = (group: string): Definition => definitionOf({ group, name: 'testcrd', versions: [versionOf('v1')] });
  const hasResource = (document: Fields, { spec }: Definition): boolean =>
    (document['items'] as readonly DiscoveredGroup[]).some(
      ({ metadata, versions }) =>
        metadata.name === spec.group &&
        versions.some(
          ({ version, resources }) =>
            version === 'v1' && resources.some(({ resource }) => resource === spec.names.plural),
        ),
    );

  const headers = {
    'the raw document': { accept: DISCOVERY },
    'what a Go client asks for': {
      accept: [DISCOVERY, DISCOVERY.replace('v=v2', 'v=v2beta1'), 'application/json'].join(),
    },
  };
  for (const [name, accepted] of Object.entries(headers)) {
    test(`${name} contains a defined kind`, async () => {
      const definition = await defineWatchable(client, testCrd(`group${count++}.example.com`));
      await waitFor('discovery has the kind', async () => {
        const answer = await must(200, client.send('GET', '/apis', { headers: accepted }));
        assert.equal(answer.headers['content-type'], DISCOVERY);
        return hasResource(answer.object, definition);
      });
      await undefine(client, definition);
    });
  }
});

interface DiscoveredGroup {
  readonly metadata: { readonly name: string };
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly { readonly resource: string }[];
  }[];
}

describe('ValidatingAdmissionPolicy', { concurrency: 8 }, () => {
  const workload = (kind: string, name: string, replicas: number): object => {
    const labels = { app: 'nginx' };
    const containers = [{ name: 'nginx', image: 'nginx:latest' }];
    const template = { metadata: { labels }, spec: { containers } };
    return {
      apiVersion: 'apps/v1',
      kind,
      metadata: { name, labels },
      spec: { replicas, selector: { matchLabels: labels }, template },
    };
  };

  async function walkPolicy(namespace: string, spec: Fields, replicas: number): Promise<void> {
    const selector = { namespaceSelector: { matchLabels: { [namespace]: 'true' } } };
    const rule = {
      operations: ['CREATE', 'UPDATE'],
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      resources: ['deployments'],
    };
    const root = '/apis/admissionregistration.k8s.io/v1';
    const apiVersion = 'admissionregistration.k8s.io/v1';
    const policyName = `${namespace}.policy.example.com`;
    await createNamespace(client, namespace, { [namespace]: 'true' });
    await must(
      201,
      client.typed('POST', `${root}/validatingadmissionpolicies`, {
        apiVersion,
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name: policyName },
        spec: { matchConstraints: { ...selector, resourceRules: [rule] }, ...spec },
      }),
    );
    await must(
      201,
      client.typed('POST', `${root}/validatingadmissionpolicybindings`, {
        apiVersion,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name: `${namespace}.binding.example.com` },
        spec: { policyName, matchResources: selector, validationActions: ['Deny'] },
      }),
    );
    const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    await waitFor('the marker is denied', async () => {
      const answer = await client.typed('POST', deployments, workload('Deployment', 'marker-deployment', 1));
      await client.typed('DELETE', `${deployments}/marker-deployment`);
      if (answer.status === 201) return false;
      assert.deepEqual([answer.status, answer.at('reason')], [422, 'Invalid'], answer.message);
      return true;
    });
    await must(201, client.typed('POST', deployments, workload('Deployment', 'replicated', replicas)));
    await must(200, client.typed('DELETE', `${deployments}/replicated`));
    const sets = `/apis/apps/v1/namespaces/${namespace}/replicasets`;
    await must(201, client.typed('POST', sets, workload('ReplicaSet', 'non-replicated', 1)));
  }

  test('a policy validates Deployments', async () => {
    const namespace = 'policy-deployment';
    const validations = [
      {
        expression: 'object.spec.replicas > 1',
        messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
      },
      {
        expression: `namespaceObject.metadata.name == '${namespace}'`,
        message: 'Internal error! Other namespace should not be allowed.',
      },
    ];
    await walkPolicy(namespace, { validations }, 2);
  });

  test('expressions refer to variables', async () => {
    const variables = [
      { name: 'replicas', expression: 'object.spec.replicas' },
      { name: 'oddReplicas', expression: 'variables.replicas % 2 == 1' },
    ];
    const validations = [{ expression: 'variables.replicas > 1' }, { expression: 'variables.oddReplicas' }];
    await walkPolicy('policy-variables', { variables, validations }, 3);
  });
});
