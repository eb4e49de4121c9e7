import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { type Fields, GoClient, JSON_PATCH, must } from '../support/go-client.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';
import { walkCluster } from '../support/walked-cluster.ts';
import {
  ALLOW_ALL,
  DEFINITIONS,
  type Definition,
  define,
  definitionOf,
  undefine,
  versionOf,
} from '../support/walked-definitions.ts';

/** The conformance tests "CustomResourcePublishOpenAPI", call by call, with kubectl. */

let kubeconfig: string;
let client: GoClient;
const { run, attempt, send, attemptSend } = createKubectl(() => kubeconfig);

walkCluster(['--memory', '--hollow-nodes', '1'], (cluster) => {
  ({ client, kubeconfig } = cluster);
});

const STATUS = `
  status:
    description: Status of Waldo
    type: object
    properties:
      bars:
        description: List of Bars and their statuses.
        type: array
        items:
          type: object`;

const FOO = parse(`
description: Foo CRD for Testing
type: object
properties:
  spec:
    type: object
    description: Specification of Foo
    properties:
      bars:
        description: List of Bars and their specs.
        type: array
        items:
          type: object
          required: [name]
          properties:
            name: { description: Name of Bar., type: string }
            age: { description: Age of Bar., type: string }
            feeling: { description: Whether Bar is feeling great., type: string, enum: [Great, Down] }
            bazs: { description: List of Bazs., items: { type: string }, type: array }
  status:
    description: Status of Foo
    type: object
    properties:
      bars:
        description: List of Bars and their statuses.
        type: array
        items:
          type: object
          properties:
            name: { description: Name of Bar., type: string }
            available: { description: Whether the Bar is installed., type: boolean }
            quxType: { description: Indicates to external qux type., pattern: in-tree|out-of-tree, type: string }
`) as Fields;

const waldo = (description: string, root: string, nested: string): Fields =>
  parse(`
description: ${description}
${root}
type: object
properties:
  spec:
    description: Specification of Waldo
    ${nested}
    type: object
    properties:
      dummy: { description: Dummy property., type: object }${STATUS}`) as Fields;
const OPEN = 'x-kubernetes-preserve-unknown-fields: true';
const WALDO = waldo('Waldo CRD for Testing', '', '');
const OPEN_ROOT = waldo('preserve-unknown-properties at root for Testing', OPEN, '');
const OPEN_NESTED = waldo('preserve-unknown-properties in nested field for Testing', '', OPEN);

const ADDED = new Set(['apiVersion', 'kind', 'metadata']);

/** The published definition without what every kind has; `undefined` while it is not published. */
async function published({ spec }: Definition, version: string): Promise<Fields | undefined> {
  const name = `${spec.group.split('.').toReversed().join('.')}.${version}.${spec.names.kind}`;
  const { object } = await must(200, client.send('GET', '/openapi/v2', { headers: { accept: '*/*' } }));
  const found = new Map(Object.entries(object['definitions'] as Fields)).get(name) as Fields | undefined;
  if (found === undefined) return undefined;
  const { 'x-kubernetes-group-version-kind': _kind, properties = {}, ...rest } = found;
  const own = Object.entries(properties as Fields).filter(([key]) => !ADDED.has(key));
  return { ...rest, ...(own.length === 0 ? {} : { properties: Object.fromEntries(own) }) };
}

const isPublished = (definition: Definition, version: string, expected?: Fields): Promise<unknown> =>
  waitFor(`${version} is published`, async () => {
    const found = await published(definition, version);
    return found !== undefined && (expected === undefined || isDeepStrictEqual(found, expected));
  });
const isWithdrawn = (definition: Definition, version: string): Promise<unknown> =>
  waitFor(`${version} is withdrawn`, async () => (await published(definition, version)) === undefined);

let count = 0;

interface Published {
  readonly schema?: Fields;
  /** In OpenAPI 2. Absent: not checked. */
  readonly expected?: Fields;
  readonly versions: readonly string[];
}

async function publish(
  suffix: string,
  { schema = ALLOW_ALL.openAPIV3Schema, expected, versions }: Published,
): Promise<Definition> {
  const id = `crd-publish-openapi-${count++}-crd`;
  const definition = definitionOf({
    group: `crd-publish-openapi-test-${suffix}.example.com`,
    name: `e2e-test-${id}`,
    names: { kind: `E2e-test-${id}`, listKind: `E2e-test-${id}List` },
    versions: versions.map((name, index) => versionOf(name, { openAPIV3Schema: schema }, { storage: index === 0 })),
  });
  await define(client, definition);
  for (const version of versions) await isPublished(definition, version, expected);
  return definition;
}

async function withdraw(definition: Definition, versions: readonly string[]): Promise<void> {
  await undefine(client, definition);
  for (const version of versions) await isWithdrawn(definition, version);
}

const IN_DEFAULT = '--namespace=default';
const create = ['create', IN_DEFAULT];
const apply = ['apply', IN_DEFAULT];

const objectOf = ({ spec }: Definition, name: string, fields: Fields): object => ({
  kind: spec.names.kind,
  apiVersion: `${spec.group}/${String(spec.versions[0]?.['name'])}`,
  metadata: { name },
  ...fields,
});

/** kubectl takes the object when it creates it, when it applies it, and when it applies a change of it. */
async function isTaken({ spec }: Definition, object: object, name: string): Promise<void> {
  const changed = { ...object, metadata: { name, labels: { changed: 'yes' } } };
  for (const [verb, ...objects] of [[create, object] as const, [apply, object, changed] as const]) {
    for (const each of objects) await send(verb, each);
    await run(IN_DEFAULT, 'delete', spec.names.plural, name);
  }
}

async function isRefused(
  object: object,
  why: RegExp,
  verbs: readonly (readonly string[])[] = [create, apply],
): Promise<void> {
  for (const verb of verbs) {
    const refused = await attemptSend(verb, object);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, why);
  }
}

const explains = async (name: string, what: RegExp): Promise<void> => assert.match(await run('explain', name), what);

describe('CustomResourcePublishOpenAPI', () => {
  test('a definition with a schema: kubectl refuses and explains by it', async () => {
    const definition = await publish('foo', { schema: FOO, expected: FOO, versions: ['v1'] });
    const { plural } = definition.spec.names;
    const foo = (spec: Fields) => objectOf(definition, 'test-foo', { spec });
    await isTaken(definition, foo({ bars: [{ name: 'test-bar' }] }), 'test-foo');
    const odd = foo({ bars: [{ name: 'test-bar', feeling: 'NonExistentValue' }] });
    await isRefused(odd, /Unsupported value: "NonExistentValue"/, [create]);
    await isRefused(foo({ foo: true }), /unknown field "(?:spec\.)?foo"/);
    await isRefused(
      foo({ bars: [{ age: '10' }] }),
      /missing required field "name"|spec\.bars\[0\]\.name: Required value/,
    );
    await explains(
      plural,
      /DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>.*Specification of Foo/s,
    );
    await explains(
      `${plural}.metadata`,
      /DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*CreationTimestamp is a timestamp/s,
    );
    await explains(
      `${plural}.spec`,
      /DESCRIPTION:.*Specification of Foo.*FIELDS:.*bars.*<\[\]Object>.*List of Bars and their specs/s,
    );
    await explains(
      `${plural}.spec.bars`,
      /(?:FIELD|RESOURCE):.*bars.*<\[\]Object>.*DESCRIPTION:.*List of Bars and their specs.*FIELDS:.*bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*Name of Bar/s,
    );
    const unknown = await attempt('explain', `${plural}.spec.bars2`);
    assert.match(unknown.stderr, /field "bars2" does not exist/);
    await withdraw(definition, ['v1']);
  });

  const anything = { a: { b: [{ c: 'd' }] } };
  test('a definition without a schema accepts everything', async () => {
    const definition = await publish('empty', { expected: { type: 'object' }, versions: ['v1'] });
    await isTaken(definition, objectOf(definition, 'test-cr', anything), 'test-cr');
    await explains(definition.spec.names.plural, /DESCRIPTION:.*<empty>/s);
    await withdraw(definition, ['v1']);
  });

  test('a schema with an open root accepts everything', async () => {
    const definition = await publish('unknown-at-root', { schema: OPEN_ROOT, versions: ['v1'] });
    await isTaken(definition, objectOf(definition, 'test-cr', anything), 'test-cr');
    await explains(definition.spec.names.plural, new RegExp(`KIND:.*${definition.spec.names.kind}`, 's'));
    await withdraw(definition, ['v1']);
  });

  test('a schema with an open field accepts everything there', async () => {
    const definition = await publish('unknown-in-nested', { schema: OPEN_NESTED, versions: ['v1'] });
    const object = objectOf(definition, 'test-cr', { spec: { a: null, b: [{ c: 'd' }] } });
    await isTaken(definition, object, 'test-cr');
    await explains(
      definition.spec.names.plural,
      /DESCRIPTION:.*preserve-unknown-properties in nested field for Testing/s,
    );
    await withdraw(definition, ['v1']);
  });

  const pairs = [
    { what: 'different groups', groups: ['foo', 'waldo'], versions: ['v1', 'v1beta1'] },
    { what: 'one group in different versions', groups: ['common-group', 'common-group'], versions: ['v4', 'v5'] },
    { what: 'one group and version', groups: ['common-group', 'common-group'], versions: ['v6', 'v6'] },
  ] as const;
  for (const { what, groups, versions } of pairs) {
    test(`two definitions of ${what} are published`, async () => {
      const foo = await publish(groups[0], { schema: FOO, expected: FOO, versions: [versions[0]] });
      const other = await publish(groups[1], { schema: WALDO, expected: WALDO, versions: [versions[1]] });
      await isPublished(foo, versions[0], FOO);
      await withdraw(foo, [versions[0]]);
      await isPublished(other, versions[1], WALDO);
      await withdraw(other, [versions[1]]);
    });
  }

  test('a renamed version is published under its new name', async () => {
    const definition = await publish('multi-ver', { schema: FOO, expected: FOO, versions: ['v2', 'v3'] });
    const url = `${DEFINITIONS}/${definition.metadata.name}`;
    const path = '/spec/versions/1/name';
    const patch = [
      { op: 'test', path, value: 'v3' },
      { op: 'replace', path, value: 'v4' },
    ];
    await must(200, client.patch(url, JSON_PATCH, patch));
    await isPublished(definition, 'v4', FOO);
    await isWithdrawn(definition, 'v3');
    await isPublished(definition, 'v2', FOO);
    await withdraw(definition, ['v2', 'v4']);
  });

  test('an unserved version is withdrawn', async () => {
    const definition = await publish('multi-to-single-ver', {
      schema: FOO,
      expected: FOO,
      versions: ['v5', 'v6alpha1'],
    });
    const url = `${DEFINITIONS}/${definition.metadata.name}`;
    const { object } = await must(200, client.typed('GET', url));
    const spec = object['spec'] as { versions: readonly Fields[] };
    const versions = spec.versions.map((version, index) => (index === 1 ? { ...version, served: false } : version));
    await must(200, client.typed('PUT', url, { ...object, spec: { ...spec, versions } }));
    await isWithdrawn(definition, 'v6alpha1');
    await isPublished(definition, 'v5', FOO);
    await withdraw(definition, ['v5']);
  });
});
