import { schemaFor } from '@holdfast/api';
import { invariant } from '@holdfast/platform';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { groupVersion } from '../served.ts';
import { publishedName } from './schema-names.ts';
import { type JsonSchema, OPENAPI_3, SchemaCollector } from './schemas.ts';

const VERSION_FIELDS = [
  'major',
  'minor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
];

/** Paths that say what else there is, by the name of their document, with what they answer. */
function signposts(): ReadonlyMap<string, string | undefined> {
  const groups = [...new Set(servedKinds().map(({ group }) => group))].filter((group) => group !== '');
  return new Map([
    ['.well-known/openid-configuration', undefined],
    ['api', 'APIVersions'],
    ['apis', 'APIGroupList'],
    ...groups.map((group) => [`apis/${group}`, 'APIGroup'] as const),
    ['openid/v1/jwks', undefined],
    ['version', undefined],
  ]);
}

export const signpostNames = (): readonly string[] => [...signposts().keys()];

/** What each of them answers, and each version of each group, by path: version 2 has them in its one document. */
export function signpostAnswers(collector: SchemaCollector): readonly (readonly [string, JsonSchema])[] {
  const signs = signpostNames().map((name) => [`/${name}/`, answerSchema(name, collector)] as const);
  const versions = [
    ...new Set(servedKinds().map((each) => `/${each.group === '' ? 'api' : 'apis'}/${groupVersion(each)}/`)),
  ];
  return [...signs, ...versions.map((path) => [path, schemaOfMeta('APIResourceList', collector)] as const)];
}

/** The OpenAPI 3 document of one of them. */
export function signpost(name: string): unknown {
  const collector = new SchemaCollector(OPENAPI_3);
  const schema = answerSchema(name, collector);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths: {
      [`/${name}/`]: {
        get: { responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } } },
      },
    },
    components: {
      schemas: collector.all(),
      securitySchemes: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    },
  };
}

function answerSchema(name: string, collector: SchemaCollector): JsonSchema {
  const kind = signposts().get(name);
  if (name === 'version') {
    const properties = Object.fromEntries(VERSION_FIELDS.map((field) => [field, { type: 'string' }]));
    return { type: 'object', properties, required: VERSION_FIELDS };
  }
  if (kind === undefined) return { type: 'string' };
  return schemaOfMeta(kind, collector);
}

function schemaOfMeta(kind: string, collector: SchemaCollector): JsonSchema {
  const struct = schemaFor('', 'v1', kind);
  invariant(struct !== undefined, 'discovery documents have field tables', { kind });
  collector.add(struct, { group: '', version: 'v1', kind });
  return collector.reference(publishedName(struct.name));
}
