import { unavailable } from '@holdfast/machinery';
import { namespacePrefix, objectKey, resourcePrefix, type Store, StoreHalted } from '@holdfast/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Core } from '../core.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { storedNameOf } from './stored-object.ts';

/** Also for cached reads: the cache may show a history that has ended. */
export function refuseHalted(store: Store): void {
  const reason = store.haltedBy();
  if (reason !== undefined) throw new StoreHalted(reason);
}

/** A server that starts knows no quota, no policy and no role: they would let everything through, or nothing. */
export function refuseUnloaded(cache: Pick<WatchCache, 'isLoaded'>): void {
  if (!cache.isLoaded) throw unavailable('the server is starting; try again');
}

/** No list, watch or change leaves out an object that is there. */
export function refuseUnreadable(
  { store: { atRest }, kinds }: Pick<Core, 'kinds' | 'store'>,
  info: ResourceRequest,
): void {
  if (atRest === undefined || info.verb === 'create') return;
  const { verb, namespace, name } = info;
  // A read of a named object goes to the store, which refuses by itself.
  if (name !== '' && verb !== 'get' && verb !== 'watch') return;
  const definition = kinds.find(info.group, info.version, info.resource);
  const { group, plural: resource } =
    definition === undefined ? { group: info.group, plural: info.resource } : storedNameOf(definition);
  const place = namespace === '' ? resourcePrefix(group, resource) : namespacePrefix(group, resource, namespace);
  const found =
    name === '' ? atRest.unreadable(place) : atRest.unreadableAt(objectKey({ group, resource, namespace, name }));
  if (found !== undefined) throw found;
}
