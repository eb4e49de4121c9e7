import type { ServedKind } from '../endpoints/served-kinds.ts';
import { addCommon, addKind, structNameOf } from './kind-schemas.ts';
import { type ApiOperation, type ApiPath, pathsOf } from './operations.ts';
import { PATCH, publishedName } from './schema-names.ts';
import { type JsonSchema, OPENAPI_2, SchemaCollector } from './schemas.ts';
import { signpostAnswers } from './signposts.ts';

export interface SwaggerDocument {
  readonly swagger: '2.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, SwaggerPath>>;
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

export interface SwaggerPath {
  readonly parameters?: readonly SwaggerParameter[];
  readonly operations: Readonly<Partial<Record<ApiOperation['method'], SwaggerOperation>>>;
}

export interface SwaggerParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'body';
  readonly required?: boolean;
  readonly type?: string;
  readonly schema?: JsonSchema;
}

export interface SwaggerOperation {
  readonly parameters: readonly SwaggerParameter[];
  readonly response: JsonSchema;
  /** Absent where something is told of the API itself. */
  readonly of?: { readonly action: string; readonly kind: ApiOperation['kind'] };
}

/** The OpenAPI 2 document of everything that is served, before it is written as JSON or protobuf. */
export function openApi2(kinds: readonly ServedKind[], version: string): SwaggerDocument {
  const collector = new SchemaCollector(OPENAPI_2);
  addCommon(collector);
  for (const kind of kinds) addKind(collector, kind);
  const paths = Object.fromEntries([
    ...signpostAnswers(collector).map(([path, response]) => [path, signpostPath(response)] as const),
    ...kinds.flatMap(pathsOf).map((each) => [each.path, swaggerPath(each, collector)] as const),
  ]);
  return { swagger: '2.0', info: { title: 'Kubernetes', version }, paths, definitions: collector.all() };
}

const signpostPath = (response: JsonSchema): SwaggerPath => ({ operations: { get: { parameters: [], response } } });

function swaggerPath({ pathParameters, operations }: ApiPath, collector: SchemaCollector): SwaggerPath {
  const parameters = pathParameters.map((name) => ({ name, in: 'path', required: true, type: 'string' }) as const);
  return {
    ...(parameters.length === 0 ? {} : { parameters }),
    operations: Object.fromEntries(operations.map((each) => [each.method, swaggerOperation(each, collector)])),
  };
}

function swaggerOperation(of: ApiOperation, collector: SchemaCollector): SwaggerOperation {
  const schemaOf = (struct: string | undefined): JsonSchema =>
    struct === undefined ? { type: 'object' } : collector.reference(publishedName(struct));
  const own = schemaOf(structNameOf(of.kind));
  const response = of.answer === undefined ? own : schemaOf(of.answer);
  const schema = of.body === 'patch' ? collector.reference(PATCH) : own;
  const body = of.body === undefined ? [] : [{ name: 'body', in: 'body', required: true, schema } as const];
  const query = of.parameters.map(({ name, type }) => ({ name, in: 'query', type }) as const);
  return { parameters: [...body, ...query], response, of: { action: of.action, kind: of.kind } };
}

/** The document as JSON. */
export function swaggerJson(document: SwaggerDocument): unknown {
  const paths = Object.entries(document.paths).map(([path, { parameters, operations }]) => [
    path,
    {
      ...Object.fromEntries(Object.entries(operations).map(([method, each]) => [method, operationJson(each)])),
      ...(parameters === undefined ? {} : { parameters }),
    },
  ]);
  return { ...document, paths: Object.fromEntries(paths) };
}

const operationJson = ({ parameters, response, of }: SwaggerOperation): unknown => ({
  parameters,
  responses: { 200: { description: 'OK', schema: response } },
  ...(of === undefined ? {} : { 'x-kubernetes-action': of.action, 'x-kubernetes-group-version-kind': of.kind }),
});
