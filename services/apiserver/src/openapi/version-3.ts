import type { ServedKind } from '../endpoints/served-kinds.ts';
import type { Parts } from '../turns/parts.ts';
import { addKind, typeSchema } from './kind-schemas.ts';
import type { ApiOperation } from './operation-shapes.ts';
import { type ApiPath, pathsOf } from './operations.ts';
import type { Parameter } from './parameters.ts';
import { BEARER_TOKEN, REASONS, UNAUTHORIZED } from './responses.ts';
import { OPENAPI_3, SchemaCollector } from './schemas.ts';

export interface Content3 {
  /** The referring paths. */
  readonly paths: readonly ApiPath[];
  readonly kinds: readonly ServedKind[];
}

/** The OpenAPI 3 document of one group and version, or of what leads there. */
export function* openApi3Parts({ paths, kinds }: Content3, version: string): Parts<unknown> {
  const collector = new SchemaCollector(OPENAPI_3);
  const items = paths.map((each): [string, unknown] => [each.path, pathItem(each, collector)]);
  for (const kind of kinds) {
    addKind(collector, kind);
    yield;
  }
  for (const kind of kinds) {
    for (const each of pathsOf(kind)) items.push([each.path, pathItem(each, collector)]);
    yield;
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries(items),
    components: { schemas: collector.all(), securitySchemes: { BearerToken: BEARER_TOKEN } },
  };
}

const pathItem = ({ parameters, operations }: ApiPath, collector: SchemaCollector): unknown => ({
  ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameterOf) }),
  ...Object.fromEntries(operations.map((each) => [each.method, operationOf(each, collector)])),
});

const parameterOf = ({ name, in: place, type }: Parameter): unknown => ({
  name,
  in: place,
  ...(place === 'path' ? { required: true } : {}),
  schema: { type, uniqueItems: true },
});

function operationOf(of: ApiOperation, collector: SchemaCollector): unknown {
  const { id, tag, consumes, produces, parameters, body, answer, statuses } = of;
  const content = (types: readonly string[], type: string): unknown =>
    Object.fromEntries(types.map((each) => [each, { schema: typeSchema(type, collector) }]));
  const responses = statuses.map((status) => [
    status,
    { description: REASONS[status], content: content(produces, answer) },
  ]);
  return {
    tags: [tag],
    operationId: id,
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameterOf) }),
    ...(body === undefined
      ? {}
      : { requestBody: { content: content(consumes, body.type), ...(body.required ? { required: true } : {}) } }),
    responses: { ...Object.fromEntries(responses), ...UNAUTHORIZED },
    ...(of.of === undefined
      ? {}
      : { 'x-kubernetes-action': of.of.action, 'x-kubernetes-group-version-kind': of.of.kind }),
  };
}
