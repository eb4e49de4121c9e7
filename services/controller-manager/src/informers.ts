import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { Bus } from '@holdfast/bus';
import { type ApiClient, createInformer, type Informer, type InformerOptions } from '@holdfast/client';
import type { Clock, Log, Random } from '@holdfast/platform';
import { cacheIndexesOf } from './common/cache-indexes.ts';
import type { SharedInformers } from './common/context.ts';

export interface InformersDeps {
  readonly client: ApiClient;
  readonly bus: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How often each cache is compared with the API, whatever it believes. */
  readonly safetyCheckIntervalMs?: number;
}

export type MetadataBounds = Required<Pick<InformerOptions<KubeObject>, 'objectsMax' | 'charsMax'>>;

/** One cache per kind, shared by all controllers of the process. */
export class InformerPool implements SharedInformers {
  readonly #deps: InformersDeps;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  /** The same by the value that names the kind: nearly all who ask have the one of the registry. */
  readonly #byResource = new WeakMap<ResourceRef, Informer<KubeObject>>();

  constructor(deps: InformersDeps) {
    this.#deps = deps;
  }

  of<T extends KubeObject>(resource: ResourceRef<T>): Informer<T> {
    const known = this.#byResource.get(resource);
    if (known !== undefined) return asInformerOf(resource, known);
    const informer = this.#byPath(resource);
    this.#byResource.set(resource, informer as unknown as Informer<KubeObject>);
    return informer;
  }

  #byPath<T extends KubeObject>(resource: ResourceRef<T>): Informer<T> {
    const path = `${resource.group}/${resource.version}/${resource.plural}`;
    const existing = this.#informers.get(path);
    if (existing !== undefined) return asInformerOf(resource, existing);
    const created = createInformer({ ...this.#deps, resource, indexes: cacheIndexesOf(resource) });
    this.#informers.set(path, created as unknown as Informer<KubeObject>);
    return created;
  }

  /** A cache that its user starts and stops: kinds come and go with their definitions, and are not on the bus. */
  independent(resource: ResourceRef): Informer<KubeObject> {
    return createInformer({ ...this.#deps, bus: undefined, resource, indexes: cacheIndexesOf(resource) });
  }

  /** The same of the metadata alone, within bounds. */
  metadataOf(resource: ResourceRef, bounds: MetadataBounds): Informer<KubeObject> {
    const selection = { metadataOnly: true } as const;
    const indexes = cacheIndexesOf(resource);
    return createInformer({ ...this.#deps, bus: undefined, resource, indexes, selection, ...bounds });
  }

  /** Resolves when every cache is filled. */
  async start(): Promise<void> {
    const informers = [...this.#informers.values()];
    await Promise.all(informers.map((informer) => informer.start()));
    await Promise.all(informers.map((informer) => informer.synced()));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.stop()));
  }
}

/** The one place that trusts the map's key for the element type: an informer is stored under the path of its own resource. */
function asInformerOf<T extends KubeObject>(_resource: ResourceRef<T>, informer: Informer<KubeObject>): Informer<T> {
  return informer as unknown as Informer<T>;
}
