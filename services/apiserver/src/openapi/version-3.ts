import type { ServedKind } from '../endpoints/served-kinds.ts';
import { addCommon, addKind, structNameOf } from './kind-schemas.ts';
import { type ApiOperation, type ApiPath, pathsOf } from './operations.ts';
import { PATCH, publishedName } from './schema-names.ts';
import { type JsonSchema, OPENAPI_3, SchemaCollector } from './schemas.ts';

const PATCH_TYPES = ['apply-patch+yaml', 'json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json'];

/** The OpenAPI 3 document of one group and version. */
export function openApi3(kinds: readonly ServedKind[]): unknown {
  const collector = new SchemaCollector(OPENAPI_3);
  addCommon(collector);
  for (const kind of kinds) addKind(collector, kind);
  const paths = Object.fromEntries(kinds.flatMap(pathsOf).map((each) => [each.path, pathItem(each, collector)]));
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths,
    components: {
      schemas: collector.all(),
      securitySchemes: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    },
  };
}

function pathItem({ pathParameters, operations }: ApiPath, collector: SchemaCollector): unknown {
  const parameters = pathParameters.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return {
    ...Object.fromEntries(operations.map((each) => [each.method, operation(each, collector)])),
    ...(parameters.length === 0 ? {} : { parameters }),
  };
}

function operation(of: ApiOperation, collector: SchemaCollector): unknown {
  const schemaOf = (struct: string | undefined): JsonSchema =>
    struct === undefined ? { type: 'object' } : collector.reference(publishedName(struct));
  const own = schemaOf(structNameOf(of.kind));
  const schema = of.answer === undefined ? own : schemaOf(of.answer);
  return {
    parameters: of.parameters.map(({ name, type }) => ({ name, in: 'query', schema: { type } })),
    ...(of.body === undefined ? {} : { requestBody: requestBody(of.body, own, collector) }),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
    'x-kubernetes-action': of.action,
    'x-kubernetes-group-version-kind': of.kind,
  };
}

function requestBody(body: 'object' | 'patch', schema: unknown, collector: SchemaCollector): unknown {
  if (body === 'object') return { required: true, content: { '*/*': { schema } } };
  const patch = { schema: collector.reference(PATCH) };
  return { required: true, content: Object.fromEntries(PATCH_TYPES.map((type) => [`application/${type}`, patch])) };
}
