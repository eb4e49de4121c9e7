import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  copyJson,
  decodeWithSchema,
  fieldErrorMessage,
  type JsonObject,
  type Schema,
  type StructSchema,
} from '@holdfast/machinery';
import fc from 'fast-check';
import { KINDS } from './generated/kinds.ts';
import { allResources, findResource } from './registry.ts';
import type { KubeObject, ResourceDefinition } from './resource.ts';
import { schemaFor } from './schema-table.ts';

const CONTEXT = { now: 1_700_000_000_000 };

/** False for kinds that are answered but never stored. */
const isStored = ({ verbs }: { readonly verbs: readonly string[] }): boolean =>
  verbs.includes('create') && verbs.includes('list');

test('every stored built-in kind has a definition', () => {
  const missing = KINDS.filter(
    (kind) => isStored(kind) && findResource(kind.group, kind.version, kind.plural) === undefined,
  );
  assert.deepEqual(
    missing.map((kind) => `${kind.group}/${kind.kind}`),
    [],
  );
});

test('a kind has exactly the subresources that discovery lists', () => {
  for (const definition of allResources()) {
    const info = KINDS.find(
      (k) => k.group === definition.group && k.version === definition.version && k.kind === definition.kind,
    );
    const names = info?.subresources.map((subresource) => subresource.name) ?? [];
    const at = `${definition.group}/${definition.kind}`;
    assert.equal(definition.status !== undefined, names.includes('status'), `${at} status`);
    assert.equal(definition.scale !== undefined, names.includes('scale'), `${at} scale`);
  }
});

test('the first column of every kind but Event is its name, and every column has a description', () => {
  for (const definition of allResources()) {
    if (definition.kind !== 'Event') assert.equal(definition.columns[0]?.name, 'Name', definition.kind);
    for (const column of definition.columns)
      assert.notEqual(column.description, '', `${definition.kind} ${column.name}`);
  }
});

const SCALARS: Readonly<Record<string, readonly unknown[]>> = {
  string: ['', 'a', 'Bad Value!', 'example.com/x', 'Always', 'None', '/x/../y'],
  boolean: [true, false],
  int32: [0, 1, -1, 80, 70_000],
  int64: [0, 1, -1, 3_000_000_000],
  number: [0, 1.5],
  quantity: ['1', '100m', '-1', '1Gi', '0'],
  intOrString: [0, 80, 'http', '25%', '150%'],
  time: ['2023-11-14T22:13:20Z'],
  microTime: ['2023-11-14T22:13:20.000001Z'],
  bytes: ['', 'aGk='],
};

const MAX_DEPTH = 9;

/** Random objects of a type: any field may be missing, even a required one. */
function valueOf(schema: Schema, pick: (below: number) => number, depth: number): unknown {
  switch (schema.kind) {
    case 'scalar': {
      const values = SCALARS[schema.scalar] ?? [''];
      return values[pick(values.length)];
    }
    case 'any':
      return [{ a: 1 }, 'x', 3][pick(3)];
    case 'list':
      return Array.from({ length: pick(3) }, () => valueOf(schema.items(), pick, depth + 1));
    case 'map':
      return Object.fromEntries(
        Array.from({ length: pick(3) }, () => [
          ['cpu', 'a/b', 'x y', 'storage'][pick(4)],
          valueOf(schema.values(), pick, depth + 1),
        ]),
      );
    case 'struct':
      return structOf(schema, pick, depth);
  }
}

function structOf(schema: StructSchema, pick: (below: number) => number, depth: number): JsonObject {
  const object: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    const chance = depth < 3 ? 2 : 4;
    if (depth < MAX_DEPTH && pick(chance) === 0) object[name] = valueOf(field.type(), pick, depth + 1);
  }
  return object as JsonObject;
}

function decoded(definition: ResourceDefinition, random: JsonObject): KubeObject {
  const schema = schemaFor(definition.group, definition.version, definition.kind);
  assert.ok(schema);
  const { value } = decodeWithSchema(copyJson(random), schema);
  const object = { ...copyJson(value) } as unknown as KubeObject;
  object.metadata = { name: 'x', ...(definition.namespaced ? { namespace: 'n' } : {}), ...object.metadata };
  return object;
}

/** Runs everything that a request can trigger for an object: our code must never fail. */
function exercise(definition: ResourceDefinition, random: JsonObject): void {
  const object = decoded(definition, random);
  definition.setDefaults(object);
  const once = copyJson(object);
  definition.setDefaults(object);
  assert.deepEqual(object, once, `${definition.kind}: defaulting twice is defaulting once`);
  const created = copyJson(object);
  definition.strategy.prepareForCreate(created, CONTEXT);
  for (const error of definition.strategy.validateCreate(created, CONTEXT))
    assert.notEqual(fieldErrorMessage(error), '');
  const updated = copyJson(object);
  definition.strategy.prepareForUpdate(updated, created, CONTEXT);
  definition.strategy.validateUpdate(updated, created, CONTEXT);
  definition.strategy.generationChanges?.(updated, created);
  definition.strategy.warnings?.(updated, created);
  for (const strategy of [definition.status, ...Object.values(definition.subresources ?? {})]) {
    const changed = copyJson(object);
    strategy?.prepareForUpdate(changed, created, CONTEXT);
    strategy?.validateUpdate(changed, created, CONTEXT);
  }
  for (const column of definition.columns) column.cell(object, CONTEXT);
  for (const read of Object.values(definition.selectableFields)) assert.equal(typeof read(object), 'string');
  definition.scale?.selector(object);
  definition.strategy.gracefulDeletion?.(object, undefined);
  if (definition.storedAs !== undefined) definition.storedAs.fromStored(definition.storedAs.toStored(object));
}

for (const definition of allResources()) {
  test(`any body of ${definition.group}/${definition.version} ${definition.kind} is defaulted, validated and printed without an exception`, () => {
    const schema = schemaFor(definition.group, definition.version, definition.kind);
    assert.ok(schema);
    exercise(definition, {});
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1_000_000)), (stream) => {
        const pick = (below: number): number => (stream.next().value ?? 0) % below;
        exercise(definition, structOf(schema, pick, 0));
      }),
      { numRuns: 60, seed: 1 },
    );
  });
}
