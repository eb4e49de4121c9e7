import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { catchUp } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { refuseName } from '../http/refusals.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { refuseWhileTerminating } from '../verbs/terminating-kind.ts';
import { refuseUnfitShape } from '../verbs/unfit-shape.ts';
import { routeResource } from './resource-router.ts';

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * A request for a custom kind; `undefined` when it does not exist. A write uses the definition as of every acknowledged
 * change: with an older one a server would drop fields that another one knows.
 */
export async function answerCustom(
  core: Core,
  info: ResourceRequest,
  contextOf: () => ResourceContext,
): Promise<ApiResponse | undefined> {
  if (WRITES.has(info.verb)) await catchUp(core);
  const definition = core.kinds.find(info.group, info.version, info.resource);
  if (definition?.custom === undefined) return undefined;
  const handler = routeResource(info, definition);
  refuseName(info.name);
  const context = contextOf();
  refuseUnfitShape(context, definition);
  refuseProtobuf(context, definition);
  if (info.verb === 'create' && info.subresource === '') refuseWhileTerminating(definition, definition.custom);
  if (definition.custom.deprecation !== undefined) context.warn(definition.custom.deprecation);
  return handler(core, context, definition);
}

/** Protobuf, which needs tables, is available only for metadata. */
function refuseProtobuf({ info, representation }: ResourceContext, { kind }: ResourceDefinition): void {
  if (representation.encoding !== 'protobuf' || representation.shape !== 'object' || info.subresource === 'scale')
    return;
  const type = info.verb === 'list' || info.verb === 'deletecollection' ? 'UnstructuredList' : 'Unstructured';
  throw new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `object *unstructured.${type} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message`,
    details: { kind },
  });
}
