import type { GroupVersion } from '../endpoints/catalog.ts';
import { type ServedKind, versionsByGroup } from '../endpoints/served-kinds.ts';
import { type Parts, whole } from '../turns/parts.ts';
import { addKind, typeSchema } from './kind-schemas.ts';
import type { ApiOperation } from './operation-shapes.ts';
import { type ApiPath, pathsOf } from './operations.ts';
import type { Parameter } from './parameters.ts';
import { BEARER_TOKEN, REASONS, UNAUTHORIZED } from './responses.ts';
import { type JsonSchema, OPENAPI_2, SchemaCollector } from './schemas.ts';
import { SharedParameters } from './shared-parameters.ts';
import { signposts, versionSignpost } from './signposts.ts';

/** The OpenAPI 2 document of everything that is served. */
export const openApi2 = (...of: Parameters<typeof openApi2Parts>): unknown => whole(openApi2Parts(...of));

export function* openApi2Parts(
  kinds: readonly ServedKind[],
  version: string,
  versions: readonly GroupVersion[] = versionsByGroup(),
): Parts<unknown> {
  const collector = new SchemaCollector(OPENAPI_2);
  const shared = new SharedParameters();
  const collected = { collector, shared, written: new Map<Parameter, JsonSchema>() };
  const paths: [string, unknown][] = [];
  for (const kind of kinds) {
    addKind(collector, kind);
    yield;
  }
  const leading = [...signposts(), ...versions.map((each) => versionSignpost(each.group, each.version))];
  for (const each of leading) paths.push([each.path, pathItem(each, collected)]);
  for (const kind of kinds) {
    for (const each of pathsOf(kind)) paths.push([each.path, pathItem(each, collected)]);
    yield;
  }
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries(paths),
    definitions: collector.all(),
    parameters: shared.all(),
    securityDefinitions: { BearerToken: BEARER_TOKEN },
    security: [{ BearerToken: [] }],
  };
}

interface Collected {
  readonly collector: SchemaCollector;
  readonly shared: SharedParameters;
  /** There are few parameters, and they are written in a thousand places. */
  readonly written: Map<Parameter, JsonSchema>;
}

const pathItem = ({ parameters, operations }: ApiPath, collected: Collected): unknown => ({
  ...Object.fromEntries(operations.map((each) => [each.method, operationOf(each, collected)])),
  ...(parameters.length === 0 ? {} : { parameters: parameters.map((each) => parameterOf(each, collected)) }),
});

function parameterOf(parameter: Parameter, { shared, written }: Collected): JsonSchema {
  const known = written.get(parameter);
  if (known !== undefined) return known;
  const { name, in: place, type } = parameter;
  const required = place === 'path' ? { required: true } : {};
  const made = shared.of({ name, in: place, ...required, type, uniqueItems: true });
  written.set(parameter, made);
  return made;
}

function operationOf(of: ApiOperation, collected: Collected): unknown {
  const { id, tag, consumes, produces, answer, statuses } = of;
  const schema = typeSchema(answer, collected.collector);
  const parameters = [...bodyOf(of, collected), ...of.parameters.map((each) => parameterOf(each, collected))];
  return {
    tags: [tag],
    operationId: id,
    ...(consumes.length === 0 ? {} : { consumes }),
    produces,
    schemes: ['https'],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, { description: REASONS[status], schema }])),
      ...UNAUTHORIZED,
    },
    ...(of.of === undefined
      ? {}
      : { 'x-kubernetes-action': of.of.action, 'x-kubernetes-group-version-kind': of.of.kind }),
  };
}

function bodyOf({ body }: ApiOperation, { collector, shared }: Collected): readonly JsonSchema[] {
  if (body === undefined) return [];
  const schema = typeSchema(body.type, collector);
  return [shared.of({ name: 'body', in: 'body', ...(body.required ? { required: true } : {}), schema })];
}
