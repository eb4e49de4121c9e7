import assert from 'node:assert/strict';
import { type Fields, type GoClient, must } from './go-client.ts';
import { waitFor } from './wait.ts';

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const ALLOW_ALL = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

export interface DefinitionOptions {
  readonly group: string;
  /** The singular name; the kind is the same. */
  readonly name: string;
  readonly versions: readonly Fields[];
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly names?: Fields;
  readonly labels?: Fields;
  readonly spec?: Fields;
}

/** A definition as the fixtures of the conformance tests make it: every name derives from one. */
export const definitionOf = (options: DefinitionOptions) => {
  const { group, name, versions, scope = 'Namespaced', names = {}, labels = {}, spec = {} } = options;
  const all = { plural: `${name}s`, singular: name, kind: name, listKind: `${name}List`, ...names };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${all.plural}.${group}`, labels },
    spec: { group, scope, names: all, versions, ...spec },
  };
};

export type Definition = ReturnType<typeof definitionOf>;

export const versionOf = (name: string, schema: Fields = ALLOW_ALL, more: Fields = {}): Fields => ({
  name,
  served: true,
  storage: true,
  schema,
  ...more,
});

const servedOf = ({ spec }: Definition): readonly string[] =>
  spec.versions.filter(({ served }) => served === true).map(({ name }) => String(name));

export const resourcesOf = ({ spec }: Definition, version: string, namespace = ''): string => {
  const root = `/apis/${spec.group}/${version}`;
  return `${root}${namespace === '' ? '' : `/namespaces/${namespace}`}/${spec.names.plural}`;
};

async function isDiscovered(client: GoClient, definition: Definition, version: string): Promise<boolean> {
  const answer = await client.typed('GET', `/apis/${definition.spec.group}/${version}`);
  if (answer.status === 404) return false;
  assert.equal(answer.status, 200);
  const found = answer.at('resources') as readonly { name: string }[];
  return found.some(({ name }) => name === definition.spec.names.plural);
}

/** Creates the definition and waits until discovery has each served version. */
export async function define(client: GoClient, definition: Definition): Promise<Definition> {
  const made = await must(201, client.typed('POST', DEFINITIONS, definition));
  for (const version of servedOf(definition))
    await waitFor(`${version} is discovered`, () => isDiscovered(client, definition, version));
  return { ...definition, ...(made.object as unknown as Definition) };
}

/** The same, and every version can be watched: the first event after an object was made is its deletion. */
export async function defineWatchable(client: GoClient, definition: Definition): Promise<Definition> {
  const made = await define(client, definition);
  const namespace = made.spec.scope === 'Cluster' ? '' : 'default';
  const [first = ''] = servedOf(made);
  const url = resourcesOf(made, first, namespace);
  const instance = {
    ...instanceOf(made, first, 'setup-instance', namespace),
    alpha: 'foo_123',
    beta: 10,
    gamma: 'bar',
    delta: 'hello',
    epsilon: 'foobar',
    spec: {},
  };
  const created = await must(201, client.dynamic('POST', url, instance));
  await must(200, client.dynamic('DELETE', `${url}/setup-instance`, { kind: 'DeleteOptions', apiVersion: 'v1' }));
  for (const version of servedOf(made)) {
    const since = `watch=true&resourceVersion=${String(created.at('metadata.resourceVersion'))}`;
    const watch = await client.watch(`${resourcesOf(made, version, namespace)}?${since}`);
    const event = await waitFor('the deletion is seen', () => watch.events[0]);
    watch.close();
    assert.equal(event.type, 'DELETED');
  }
  return made;
}

/** Deletes the definition and waits until discovery has lost it. */
export async function undefine(client: GoClient, definition: Definition): Promise<void> {
  await must(200, client.typed('DELETE', `${DEFINITIONS}/${definition.metadata.name}`));
  for (const version of servedOf(definition))
    await waitFor(`${version} is gone`, async () => !(await isDiscovered(client, definition, version)));
}

export const instanceOf = ({ spec }: Definition, version: string, name: string, namespace = ''): Fields => ({
  apiVersion: `${spec.group}/${version}`,
  kind: spec.names.kind,
  metadata: { name, ...(namespace === '' ? {} : { namespace }) },
});
