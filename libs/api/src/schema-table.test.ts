import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '@holdfast/machinery';
import { KINDS } from './generated/kinds.ts';
import { SCHEMAS } from './generated/schemas.ts';
import { schemaFor, structSchema } from './schema-table.ts';

test('every field table can be built and every struct it names exists', () => {
  const visit = (schema: Schema): void => {
    if (schema.kind === 'list') visit(schema.items());
    if (schema.kind === 'map') visit(schema.values());
  };
  for (const [name, table] of Object.entries(SCHEMAS)) {
    for (const kind of Object.keys(table)) {
      for (const field of Object.values(structSchema(`${name}.${kind}`)?.fields ?? {})) visit(field.type());
    }
  }
});

test('every served kind and its list have a field table', () => {
  for (const { group, version, kind, verbs } of KINDS) {
    assert.ok(schemaFor(group, version, kind), `${group}/${version} ${kind}`);
    if (verbs.includes('list')) assert.ok(schemaFor(group, version, `${kind}List`), `${group}/${version} ${kind}List`);
  }
});

test('a list keyed by name keeps its merge key and its map keys', () => {
  const containers = structSchema('core.v1.PodSpec')?.fields['containers'];
  assert.deepEqual(containers?.patchStrategy, ['merge']);
  assert.equal(containers?.patchMergeKey, 'name');
  assert.equal(containers?.required, true);
  const type = containers?.type();
  assert.equal(type?.kind === 'list' && type.listType, 'map');
  const ports = structSchema('core.v1.Container')?.fields['ports']?.type();
  assert.deepEqual(ports?.kind === 'list' && ports.mapKeys, ['containerPort', 'protocol']);
});

test('a field can override whether its struct is atomic', () => {
  const claimRef = structSchema('core.v1.PersistentVolumeSpec')?.fields['claimRef']?.type();
  assert.equal(claimRef?.kind === 'struct' && claimRef.atomic, false);
  assert.equal(structSchema('core.v1.ObjectReference')?.atomic, true);
});

test('a struct that is not a kind is not found as a kind', () => {
  assert.equal(schemaFor('', 'v1', 'Container'), undefined);
  assert.equal(schemaFor('apps', 'v1', 'Pod'), undefined);
  assert.equal(schemaFor('apps', 'v1', 'DeleteOptions')?.name, 'meta.v1.DeleteOptions');
});
