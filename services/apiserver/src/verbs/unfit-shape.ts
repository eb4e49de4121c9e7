import type { ResourceDefinition } from '@holdfast/api';
import type { ResourceContext } from '../http/context.ts';
import { type GoKind, otherShape } from '../http/negotiation.ts';
import { includeObject } from '../http/object-answer.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { isWholeObject } from './update-strategies.ts';

/** What could not be shown afterwards is refused before anything is written; Kubernetes says the same when it is done. */
export function refuseUnfitShape(context: ResourceContext, definition: ResourceDefinition): void {
  const { info, representation, request } = context;
  const { shape } = representation;
  if (shape === 'object' || !WRITES.has(info.verb)) return;
  const shown = shownBy(info, definition);
  if (shown === undefined) return;
  if (shape === 'table') includeObject(request.query.get('includeObject'));
  else if (info.verb === 'deletecollection') {
    if (shape === 'partial') throw otherShape('PartialObjectMetadata', definition);
  } else if (shape === 'partial list' && showsObject(info.verb, definition)) {
    throw otherShape('PartialObjectMetadataList', shown);
  }
}

/** What a write is answered with; `undefined` where only the handler knows. */
function shownBy({ subresource }: ResourceRequest, definition: ResourceDefinition): GoKind | undefined {
  if (subresource === 'scale') return SCALE;
  return subresource === '' || isWholeObject(definition, subresource) ? definition : undefined;
}

const SCALE: GoKind = { group: 'autoscaling', kind: 'Scale' };

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The answer to an immediate deletion is a `Status`, which has no other shape. */
const showsObject = (verb: string, { strategy }: ResourceDefinition): boolean =>
  verb !== 'delete' || strategy.gracefulDeletion !== undefined;
