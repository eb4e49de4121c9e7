import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { builtInCatalog } from '../endpoints/catalog.ts';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { openApi2 } from './version-2.ts';
import { documentNames3, documentOf3 } from './version-3-documents.ts';

/** The OpenAPI documents of Kubernetes 1.32. They are not part of the project; where they are not at hand the tests are skipped. */
const REFERENCE = join(import.meta.dirname, '../../../../../shared/reference/openapi-v1.32');
const skip = existsSync(join(REFERENCE, 'swagger.json'))
  ? false
  : 'the OpenAPI documents of Kubernetes 1.32 are not at hand';

type Json = Readonly<Record<string, unknown>>;
const readJson = (name: string): Json => JSON.parse(readFileSync(join(REFERENCE, name), 'utf8')) as Json;
const plain = (document: unknown): Json => JSON.parse(JSON.stringify(document)) as Json;
const objectAt = (value: unknown, key: string): Json => ({ ...((value as Json)[key] as Json | undefined) });

/** Kinds of every group that there is; we do not serve all of them. Paths and types of our own. */
const OTHERWISE: ReadonlySet<string> = new Set([
  'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions x-kubernetes-group-version-kind',
  'io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent x-kubernetes-group-version-kind',
  'io.k8s.api.core.v1.PersistentVolumeStatus properties attachment',
  'io.k8s.api.core.v1.PersistentVolumeStatus properties fencingToken',
]);
const isOwn = (name: string): boolean => /PersistentVolumeAttachment|PersistentVolumeUser|metrics\.k8s\.io/.test(name);
/** Only where a feature is on that is off by default. */
const isLeftOut = (path: string): boolean => path.endsWith('/pods/{name}/resize');

/** Removes descriptions, unserved formats and meaningless order; a reference without siblings equals a wrapped one. */
function comparable(value: unknown, parameters: Json): unknown {
  if (Array.isArray(value)) {
    const items = value.filter((each) => !String(each).includes('cbor')).map((each) => comparable(each, parameters));
    const isSet = items.every((each) => typeof each === 'string' || 'in' in Object(each));
    return isSet ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const { allOf, $ref } = value as { readonly allOf?: readonly unknown[]; readonly $ref?: unknown };
  if (allOf !== undefined && isAlone(value)) return comparable(allOf[0], parameters);
  if (typeof $ref === 'string' && $ref.startsWith('#/parameters/')) {
    const shared = comparable(parameters[$ref.replace('#/parameters/', '')], parameters);
    return sorted([...Object.entries(Object(shared)), ['shared', true]]);
  }
  const kept = Object.entries(value).filter(
    ([key, each]) => !(key === 'description' && typeof each === 'string') && !key.includes('cbor'),
  );
  return sorted(kept.map(([key, each]) => [key, comparable(each, parameters)]));
}

const sorted = (entries: readonly (readonly [string, unknown])[]): Json =>
  Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));

const isAlone = (value: object): boolean => Object.keys(value).every((key) => key === 'allOf' || key === 'description');

function* differences(theirs: unknown, ours: unknown, at: string): Iterable<string> {
  if (OTHERWISE.has(at)) return;
  const isTree = [theirs, ours].every((each) => typeof each === 'object' && each !== null && !Array.isArray(each));
  if (!isTree) {
    const [want, got] = [JSON.stringify(theirs), JSON.stringify(ours)];
    if (want !== got) yield `${at}: want ${want} got ${got}`;
    return;
  }
  for (const key of new Set([...Object.keys(Object(theirs)), ...Object.keys(Object(ours))])) {
    yield* differences((theirs as Json)[key], (ours as Json)[key], `${at} ${key}`.trim());
  }
}

function* differencesOf(theirs: Json, ours: Json, section: (document: Json) => Json): Iterable<string> {
  const [want, got] = [theirs, ours].map((each) => comparable(section(each), objectAt(each, 'parameters')) as Json);
  for (const name of Object.keys(got ?? {})) {
    if (!isOwn(name)) yield* differences(want?.[name], got?.[name], name);
  }
}

test('version 2 has the structure of Kubernetes 1.32', { skip }, () => {
  const theirs = readJson('swagger.json');
  const ours = plain(openApi2(servedKinds(), 'unversioned'));
  for (const key of ['paths', 'definitions']) {
    assert.deepEqual([...differencesOf(theirs, ours, (each) => objectAt(each, key))], []);
  }
  for (const key of ['info', 'security', 'securityDefinitions']) assert.deepEqual(ours[key], theirs[key]);
});

for (const name of documentNames3(builtInCatalog()).filter((each) => !isOwn(each))) {
  test(`version 3 of ${name} has the structure of Kubernetes 1.32`, { skip }, () => {
    const theirs = readJson(`v3/${name.replaceAll('/', '__')}_openapi.json`);
    const ours = plain(documentOf3(builtInCatalog(), name));
    assert.deepEqual([...differencesOf(theirs, ours, (each) => objectAt(each, 'paths'))], []);
    const schemas = (each: Json): Json => objectAt(each['components'], 'schemas');
    assert.deepEqual([...differencesOf(theirs, ours, schemas)], []);
    const [want, got] = [theirs, ours].map((each) => [
      ...Object.keys(schemas(each)),
      ...Object.keys(objectAt(each, 'paths')),
    ]);
    assert.deepEqual(
      want?.filter((each) => got?.includes(each) !== true && !isLeftOut(each)),
      [],
    );
  });
}
