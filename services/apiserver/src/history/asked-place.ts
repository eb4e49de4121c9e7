import type { ResourceDefinition } from '@holdfast/api';
import { badRequest } from '@holdfast/machinery';
import { namespacePrefix, objectKey, resourcePrefix } from '@holdfast/store';
import { authorize } from '../authorization/chain.ts';
import { selectingQuery } from '../http/history-path.ts';
import { notServed } from '../http/not-served.ts';
import { refuseName } from '../http/refusals.ts';
import { type ResourceRequest, readRequestInfo } from '../http/request-info.ts';
import { refuseUnreadable } from '../objects/readable.ts';
import { storedNameOf } from '../objects/stored-object.ts';
import type { HistoryRequest } from './request.ts';

/** A resource, a namespace of it or one object, which the caller may read now. */
export interface AskedPlace {
  readonly info: ResourceRequest;
  readonly definition: ResourceDefinition;
  /** The prefix of the resource. */
  readonly prefix: string;
  /** The beginning of every wanted key. */
  readonly within: string;
}

/** Refuses exactly what a read of the present would refuse: without a right, or beside an object that cannot be decrypted. */
export async function readPlace({ core, request, user, place }: HistoryRequest): Promise<AskedPlace> {
  const info = readRequestInfo({ method: 'GET', path: place, query: selectingQuery(request) });
  if (info.kind === 'path' || info.subresource !== '' || info.verb === 'watch')
    throw badRequest(`${JSON.stringify(place)} is not the path of a resource or an object, such as /api/v1/pods`);
  await authorize(core.access.authorizers, user, info);
  const definition = core.kinds.find(info.group, info.version, info.resource);
  if (definition === undefined || isMisplaced(info, definition)) throw notServed();
  refuseName(info.name);
  refuseUnreadable(core, info);
  const { group, plural: resource } = storedNameOf(definition);
  const namespace = definition.namespaced ? info.namespace : '';
  const prefix = resourcePrefix(group, resource);
  if (info.name !== '')
    return { info, definition, prefix, within: objectKey({ group, resource, namespace, name: info.name }) };
  return { info, definition, prefix, within: namespace === '' ? prefix : namespacePrefix(group, resource, namespace) };
}

function isMisplaced({ resource, namespace, name }: ResourceRequest, { namespaced }: ResourceDefinition): boolean {
  if (namespaced) return name !== '' && namespace === '';
  return namespace !== '' && (resource !== 'namespaces' || namespace !== name);
}
