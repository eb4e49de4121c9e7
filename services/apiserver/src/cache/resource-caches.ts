import { parseKey, resourcePrefix } from '@holdfast/store';
import { ResourceCache } from './resource-cache.ts';
import type { FieldReader } from './watcher-index.ts';

type FieldsOf = (group: string, resource: string) => Readonly<Record<string, FieldReader>>;

/** The caches of all resources. One is made when its resource is first asked for, or first stored. */
export class ResourceCaches {
  #completeAfter: number;
  readonly #fieldsOf: FieldsOf;
  /** By the prefix of their keys. */
  readonly #byPrefix = new Map<string, ResourceCache>();
  /** The same by plural and group, for who has no key in hand. */
  readonly #byName = new Map<string, Map<string, ResourceCache>>();

  constructor(completeAfter: number, fieldsOf: FieldsOf) {
    this.#completeAfter = completeAfter;
    this.#fieldsOf = fieldsOf;
  }

  all(): readonly ResourceCache[] {
    return [...this.#byPrefix.values()];
  }

  resource(group: string, resource: string): ResourceCache {
    const quick = this.#byName.get(resource)?.get(group);
    if (quick !== undefined) return quick;
    const prefix = resourcePrefix(group, resource);
    const cache = this.#byPrefix.get(prefix) ?? this.#add(prefix, group, resource);
    const sameName = this.#byName.get(resource) ?? new Map<string, ResourceCache>();
    this.#byName.set(resource, sameName.set(group, cache));
    return cache;
  }

  /** The same for an untrusted name: `undefined` when nothing was ever requested or stored. */
  known(group: string, resource: string): ResourceCache | undefined {
    return this.#byName.get(resource)?.get(group);
  }

  ofKey(key: string): ResourceCache {
    const known = this.#byPrefix.get(prefixOf(key));
    if (known !== undefined) return known;
    const { group, resource } = parseKey(key);
    return this.resource(group, resource);
  }

  /** What was taken so far is the state at this revision. */
  beginAt(revision: number): void {
    this.#completeAfter = revision;
    for (const cache of this.#byPrefix.values()) cache.beginAt(revision);
  }

  #add(prefix: string, group: string, resource: string): ResourceCache {
    const cache = new ResourceCache(this.#completeAfter, () => this.#fieldsOf(group, resource));
    this.#byPrefix.set(prefix, cache);
    return cache;
  }
}

/** A key begins with the prefix of its resource. */
export const prefixOf = (key: string): string => key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1);
