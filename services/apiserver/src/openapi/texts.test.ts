import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { structSchema } from '@holdfast/api';
import { SCHEMAS } from '@holdfast/api/schemas';
import { startTestApi } from '../testing/fixture.ts';
import { allTexts, fieldText, kindText } from './texts.ts';

type Json = Readonly<Record<string, unknown>>;

/** Every field that has no text, by the way to it. */
function* withoutText(schemas: Json): Iterable<string> {
  for (const [name, schema] of Object.entries(schemas)) {
    const { properties = {}, description } = schema as { readonly properties?: Json; readonly description?: string };
    if ('x-kubernetes-group-version-kind' in Object(schema) && description === undefined) yield name;
    for (const [field, property] of Object.entries(properties))
      if (typeof (property as Json)['description'] !== 'string') yield `${name}.${field}`;
  }
}

let documents: readonly Json[] = [];
before(async () => {
  const api = await startTestApi();
  const { paths } = (await api.call('GET', '/openapi/v3')).body as { readonly paths: Json };
  const version3: unknown[] = [];
  for (const path of Object.keys(paths))
    version3.push((await api.call('GET', `/openapi/v3/${path}`)).at('components.schemas'));
  documents = [(await api.call('GET', '/openapi/v2')).at('definitions'), ...version3].filter(
    (each) => each !== undefined,
  ) as Json[];
  await api.stop();
});

test('every field and kind in both versions of OpenAPI has a description', () => {
  assert.ok(documents.length > 20);
  const missing = new Set(documents.flatMap((schemas) => [...withoutText(schemas)]));
  assert.deepEqual(
    [...missing].filter((name) => !ELSEWHERE.test(name)),
    [],
  );
});

/** Types that other programs or documents define. */
const ELSEWHERE = /^io\.k8s\.apimachinery\.pkg\.version\.Info/;

test('no description is unused, and each is one or a few whole sentences', () => {
  const { fields, kinds } = allTexts();
  const used = new Set<string>();
  for (const [group, structs] of Object.entries(SCHEMAS)) {
    for (const name of Object.keys(structs)) {
      if (kinds.has(name)) used.add(name);
      for (const field of Object.keys(structSchema(`${group}.${name}`)?.fields ?? {}))
        used.add(fields.has(`${name}.${field}`) ? `${name}.${field}` : field);
    }
  }
  assert.deepEqual(
    [...fields, ...kinds].filter((name) => !used.has(name)),
    [],
  );
  for (const name of fields) {
    const [struct = '', field = ''] = name.includes('.') ? name.split('.') : ['', name];
    assert.match(fieldText(struct, field) ?? '', /^["A-Z0-9].*\.$/, name);
  }
  for (const name of kinds) assert.match(kindText(name) ?? '', /^[A-Z].*\.$/, name);
});
