import type { ResourceDefinition } from '@holdfast/api';
import { notServed } from '../http/not-served.ts';
import { methodNotAllowed } from '../http/refusals.ts';
import type { ResourceRequest, ResourceVerb } from '../http/request-info.ts';
import type { Handler } from '../subresources/port.ts';
import { SUBRESOURCES } from '../subresources/registry.ts';
import { create } from '../verbs/create.ts';
import { remove } from '../verbs/delete.ts';
import { removeCollection } from '../verbs/delete-collection.ts';
import { get } from '../verbs/get.ts';
import { list } from '../verbs/list.ts';
import { patch } from '../verbs/patch.ts';
import { update } from '../verbs/update.ts';
import { isWholeObject, verbsOf } from '../verbs/update-strategies.ts';
import { watch } from '../verbs/watch.ts';

const VERBS = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
} as const satisfies Record<ResourceVerb, Handler>;

const isVerb = (text: string): text is ResourceVerb => Object.hasOwn(VERBS, text);

const ON_ITEMS: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete']);

/** The handler of a request; 404 for a subresource that the kind does not have, 405 for a verb. */
export function routeResource(info: ResourceRequest, definition: ResourceDefinition): Handler {
  if (!definition.namespaced && isInNamespace(info)) throw notServed();
  if (info.subresource !== '') return routeSubresource(info, definition);
  if (!isVerb(info.verb) || !definition.verbs.includes(info.verb)) throw methodNotAllowed();
  const addressesItem = info.name !== '';
  if (info.verb !== 'watch' && ON_ITEMS.has(info.verb) !== addressesItem) throw methodNotAllowed();
  if (definition.namespaced && info.namespace === '') {
    if (addressesItem) throw notServed();
    // All namespaces together support only reads.
    if (info.verb !== 'list' && info.verb !== 'watch') throw methodNotAllowed();
  }
  return VERBS[info.verb];
}

/** A namespace has its own path. */
const isInNamespace = ({ resource, namespace, name }: ResourceRequest): boolean =>
  namespace !== '' && (resource !== 'namespaces' || namespace !== name);

function routeSubresource(info: ResourceRequest, definition: ResourceDefinition): Handler {
  if (isWholeObject(definition, info.subresource)) {
    const verb = verbsOf(definition, info.subresource).find((each) => each === info.verb);
    if (verb === undefined) throw methodNotAllowed();
    return VERBS[verb];
  }
  const found = SUBRESOURCES.find((each) => each.name === info.subresource && each.servedBy(definition));
  if (found === undefined) throw notServed();
  const handler = found.verbs[info.verb];
  if (handler === undefined) throw methodNotAllowed();
  return handler;
}
