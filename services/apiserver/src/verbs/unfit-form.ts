import type { ResourceDefinition } from '@holdfast/api';
import type { ResourceContext } from '../http/context.ts';
import { otherForm } from '../http/negotiation.ts';
import { includeObject } from '../http/object-answer.ts';
import { isWholeObject } from './update-forms.ts';

/** What could not be shown afterwards is refused before anything is written; Kubernetes says the same when it is done. */
export function refuseUnfitForm(context: ResourceContext, definition: ResourceDefinition): void {
  const { info, representation, request } = context;
  const { form } = representation;
  if (form === 'object' || !WRITES.has(info.verb)) return;
  if (info.subresource !== '' && !isWholeObject(definition, info.subresource)) return;
  if (form === 'table') includeObject(request.query.get('includeObject'));
  else if (info.verb === 'deletecollection') {
    if (form === 'partial') throw otherForm('PartialObjectMetadata', definition);
  } else if (form === 'partial list' && showsObject(info.verb, definition)) {
    throw otherForm('PartialObjectMetadataList', definition);
  }
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** What is deleted at once is answered with a `Status`, which has no other form. */
const showsObject = (verb: string, { strategy }: ResourceDefinition): boolean =>
  verb !== 'delete' || strategy.gracefulDeletion !== undefined;
