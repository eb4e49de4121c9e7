import { isTerminating, type KubeObject, type ResourceRef } from '@holdfast/api';
import type { ApiClient, DeleteRequest, Target } from '@holdfast/client';
import { alreadyExists, conflict, MODIFIED_CONCURRENTLY, notFound } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type { VirtualClock } from '@holdfast/platform/testing';
import type { SharedInformers } from '../common/context.ts';
import { isSame } from '../common/hash.ts';
import { keyOf } from '../common/meta.ts';
import { type IndexFunctions, ModelCache } from './model-cache.ts';

export interface RecordedWrite {
  readonly identity: string;
  readonly verb: 'create' | 'update' | 'updateStatus' | 'finalize' | 'scale' | 'approval' | 'delete';
  readonly resource: string;
  readonly key: string;
  readonly request?: DeleteRequest | undefined;
}

/** Caches that a test can hold back. */
export interface ModelInformers extends SharedInformers {
  of<T extends KubeObject>(resource: ResourceRef<T>): ModelCache<T>;
}

/** The default grace period of a pod. */
const GRACE_SECONDS = 30;

/**
 * The rules of the API server that controllers lean on, and nothing else: one revision for all kinds, create if absent,
 * compare-and-swap, preconditions, graceful deletion, finalizers. Every write can be made to fail before or after it counts.
 */
export class ApiModel {
  readonly writes: RecordedWrite[] = [];
  /** Requests of clients by verb. */
  readonly reads = { get: 0, list: 0 };
  readonly events: { readonly about: string; readonly reason: string; readonly message: string }[] = [];
  /** Throw from here to lose the request on its way. */
  beforeWrite: (write: RecordedWrite) => void = () => {};
  /** Throw from here to lose the answer: the write counts. */
  afterWrite: (write: RecordedWrite) => void = () => {};
  readonly #clock: VirtualClock;
  readonly #indexesOf: (resource: ResourceRef) => IndexFunctions;
  readonly #kinds = new Map<string, Map<string, KubeObject>>();
  readonly #caches = new Map<string, ModelCache[]>();
  readonly #sharedCaches = new Map<string, ModelCache>();
  #revision = 0;
  #uids = 0;

  constructor(clock: VirtualClock, indexesOf: (resource: ResourceRef) => IndexFunctions) {
    this.#clock = clock;
    this.#indexesOf = indexesOf;
  }

  list<T extends KubeObject>(resource: ResourceRef<T>, namespace?: string): readonly T[] {
    const all = [...this.#table(resource).values()] as T[];
    return all.filter((object) => namespace === undefined || object.metadata.namespace === namespace);
  }

  find<T extends KubeObject>(resource: ResourceRef<T>, target: Target): T | undefined {
    return this.#table(resource).get(keyOf({ metadata: target })) as T | undefined;
  }

  get<T extends KubeObject>(resource: ResourceRef<T>, target: Target): T {
    const found = this.find(resource, target);
    if (found === undefined) throw notFound({ group: resource.group, resource: resource.plural, name: target.name });
    return found;
  }

  /** Changes a stored object past all rules (a user, a kubelet, the test). */
  put<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    const old = this.find(resource, { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' });
    return this.#store(resource, { ...object, metadata: { ...this.#created(), ...old?.metadata, ...object.metadata } });
  }

  drop<T extends KubeObject>(resource: ResourceRef<T>, target: Target): void {
    const key = keyOf({ metadata: target });
    if (!this.#table(resource).delete(key)) return;
    this.#revision++;
    for (const cache of this.#caches.get(resource.plural) ?? []) cache.feed(this.#revision, key, undefined);
  }

  /** The caches of one more process. */
  newInformers(): ModelInformers {
    const caches = new Map<string, ModelCache>();
    return { of: (resource) => this.#cacheIn(caches, resource) };
  }

  cache<T extends KubeObject>(resource: ResourceRef<T>): ModelCache<T> {
    return this.#cacheIn(this.#sharedCaches, resource);
  }

  readonly informers: SharedInformers = { of: (resource) => this.cache(resource) };

  /** The discovery of aggregated servers for a version. */
  discover: ApiClient['resourcesOf'] = () => Promise.resolve([]);

  client(identity: string): ApiClient {
    const act = <R>(write: Omit<RecordedWrite, 'identity'>, effect: () => R): Promise<R> =>
      Promise.resolve().then(() => this.#write({ ...write, identity }, effect));
    const write =
      (verb: RecordedWrite['verb'], effect: (resource: ResourceRef<never>, object: never) => KubeObject) =>
      <T extends KubeObject>(resource: ResourceRef<T>, object: T): Promise<T> =>
        act(
          { verb, resource: resource.plural, key: keyOf(object) },
          () => effect(resource as unknown as ResourceRef<never>, object as never) as T,
        );
    const unused = (): never => {
      throw new Error('the model does not serve this call');
    };
    const ask = <R>(verb: 'get' | 'list', answer: () => R): Promise<R> =>
      Promise.resolve().then(() => {
        this.reads[verb]++;
        return answer();
      });
    return {
      get: (resource, target, subresource) =>
        ask('get', () => (subresource === 'scale' ? this.#scale(resource, target) : this.get(resource, target))),
      find: (resource, target) => ask('get', () => this.find(resource, target)),
      list: (resource, options) =>
        ask('list', () => ({
          resourceVersion: String(this.#revision),
          continueToken: undefined,
          items: this.list(resource, options?.namespace),
        })),
      watch: unused,
      create: write('create', (resource, object) => this.#create(resource, object)),
      update: write('update', (resource, object) => this.#update(resource, object)),
      updateStatus: write('updateStatus', (resource, object) => this.#updateStatus(resource, object)),
      updateSubresource: (resource, object, subresource) =>
        subresource === 'finalize'
          ? write('finalize', (of, changed) => this.#finalize(of, changed))(resource, object)
          : subresource === 'scale'
            ? write('scale', (of, changed) => this.#rescale(of, changed))(resource, object)
            : write('approval', (of, changed) => this.#updateStatus(of, changed))(resource, object),
      patch: (resource, target, { body }) =>
        act({ verb: 'update', resource: resource.plural, key: keyOf({ metadata: target }) }, () => {
          const old = this.get(resource, target);
          return this.#update(resource, { ...old, metadata: { ...old.metadata, ...metadataIn(body) } });
        }),
      delete: (resource, target, request) =>
        act({ verb: 'delete', resource: resource.plural, key: keyOf({ metadata: target }), request }, () =>
          this.#delete(resource, target, request ?? {}),
        ),
      resourcesOf: (group, version) => this.discover(group, version),
      bind: unused,
      evict: unused,
    };
  }

  #write<R>(write: RecordedWrite, effect: () => R): R {
    this.beforeWrite(write);
    const result = effect();
    this.writes.push(write);
    this.afterWrite(write);
    return result;
  }

  #create<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    if (this.#table(resource).has(keyOf(object))) throw alreadyExists(this.#subject(resource, object));
    return this.#store(resource, { ...object, metadata: { ...object.metadata, ...this.#created() } });
  }

  #update<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    const old = this.#compare(resource, object);
    const { status: oldStatus, ...oldRest } = this.#parts(old);
    const { status: _ignored, ...rest } = this.#parts(object);
    const changed = !isSame({ ...oldRest, metadata: 0 }, { ...rest, metadata: 0 });
    const metadata = {
      ...object.metadata,
      generation: (old.metadata.generation ?? 1) + (changed ? 1 : 0),
      ...(!isTerminating(old) ? {} : { deletionTimestamp: old.metadata.deletionTimestamp }),
    };
    const next = { ...rest, ...(oldStatus === undefined ? {} : { status: oldStatus }), metadata } as unknown as T;
    const isHeld = (metadata.finalizers ?? []).length > 0 || this.#endsGracefully(resource, old, {});
    if (!isTerminating({ metadata }) || isHeld) return this.#store(resource, next);
    this.drop(resource, { namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
    return { ...next, metadata: { ...metadata, resourceVersion: String(this.#revision) } };
  }

  #updateStatus<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    const old = this.#compare(resource, object);
    const status = { status: this.#parts(object).status };
    const { annotations } = object.metadata;
    const metadata = annotations === undefined ? old.metadata : { ...old.metadata, annotations };
    return this.#store(resource, { ...old, ...status, metadata });
  }

  /** A namespace whose last finalizer is taken away is gone. */
  #finalize<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    this.#compare(resource, object);
    const { spec } = this.#parts(object) as { spec: { finalizers: string[] } };
    if (spec.finalizers.length > 0) return this.#store(resource, object);
    this.drop(resource, { name: object.metadata.name ?? '' });
    return object;
  }

  /** The form in which anything with replicas is scaled. */
  #scale<T extends KubeObject>({ kind: _kind, ...address }: ResourceRef<T>, target: Target): T {
    const { metadata, ...parts } = this.get({ ...address, kind: '' }, target);
    const { spec, status } = parts as unknown as {
      spec: { replicas: number; selector: { matchLabels: Record<string, string> } };
      status: { replicas?: number };
    };
    const selector = Object.entries(spec.selector.matchLabels).map((pair) => pair.join('='));
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata, spec: { replicas: spec.replicas } };
    return { ...scale, status: { replicas: status.replicas ?? 0, selector: selector.join(',') } } as unknown as T;
  }

  #rescale<T extends KubeObject>(resource: ResourceRef<T>, scale: T): T {
    const old = this.#compare(resource, scale);
    const { replicas } = this.#parts(scale)['spec'] as { replicas: number };
    const spec = { ...(this.#parts(old)['spec'] as object), replicas };
    const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
    return this.#store(resource, { ...old, metadata, spec } as T);
  }

  #delete<T extends KubeObject>(resource: ResourceRef<T>, target: Target, request: DeleteRequest): void {
    const old = this.get(resource, target);
    const mismatch =
      (request.uid !== undefined && request.uid !== old.metadata.uid) ||
      (request.resourceVersion !== undefined && request.resourceVersion !== old.metadata.resourceVersion);
    if (mismatch) throw conflict(this.#subject(resource, old), 'the precondition does not hold');
    const added = { Foreground: ['foregroundDeletion'], Orphan: ['orphan'], Background: [] };
    const finalizers = [...(old.metadata.finalizers ?? []), ...added[request.propagationPolicy ?? 'Background']];
    const isHeld = finalizers.length > 0 || resource.plural === 'namespaces';
    const isGraceful = this.#endsGracefully(resource, old, request);
    if (!isHeld && !isGraceful) {
      this.drop(resource, target);
      return;
    }
    const { deletionTimestamp, deletionGracePeriodSeconds } = old.metadata;
    if (deletionTimestamp !== undefined && (isGraceful || deletionGracePeriodSeconds === 0)) return;
    const end = {
      deletionTimestamp: deletionTimestamp ?? formatTime(this.#clock.now()),
      deletionGracePeriodSeconds: isGraceful ? GRACE_SECONDS : 0,
    };
    this.#store(resource, { ...old, metadata: { ...old.metadata, finalizers, ...end } });
  }

  #endsGracefully(resource: ResourceRef, object: KubeObject, request: DeleteRequest): boolean {
    if (resource.plural !== 'pods' || request.gracePeriodSeconds === 0) return false;
    const { spec, status } = this.#parts(object) as { spec?: { nodeName?: string }; status?: { phase?: string } };
    return (spec?.nodeName ?? '') !== '' && status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
  }

  #compare<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    const { name = '', namespace = '', uid, resourceVersion } = object.metadata;
    const old = this.get(resource, { namespace, name });
    // As in the API, a write that names no revision is unconditional.
    const isStale = resourceVersion !== undefined && old.metadata.resourceVersion !== resourceVersion;
    if (isStale || (uid !== undefined && old.metadata.uid !== uid))
      throw conflict(this.#subject(resource, object), MODIFIED_CONCURRENTLY);
    return old;
  }

  #store<T extends KubeObject>(resource: ResourceRef<T>, object: T): T {
    this.#revision++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
    deepFreeze(stored);
    const key = keyOf(stored);
    this.#table(resource).set(key, stored);
    for (const cache of this.#caches.get(resource.plural) ?? []) cache.feed(this.#revision, key, stored);
    return stored;
  }

  #created(): KubeObject['metadata'] {
    return { uid: `uid-${++this.#uids}`, creationTimestamp: formatTime(this.#clock.now()), generation: 1 };
  }

  #cacheIn<T extends KubeObject>(caches: Map<string, ModelCache>, resource: ResourceRef<T>): ModelCache<T> {
    const existing = caches.get(resource.plural);
    if (existing !== undefined) return existing as unknown as ModelCache<T>;
    const cache = new ModelCache<T>(resource, this.#indexesOf(resource));
    const anyCache = cache as unknown as ModelCache;
    caches.set(resource.plural, anyCache);
    this.#caches.set(resource.plural, [...(this.#caches.get(resource.plural) ?? []), anyCache]);
    for (const object of this.list(resource)) cache.feed(this.#revision, keyOf(object), object);
    return cache;
  }

  #table(resource: { readonly plural: string }): Map<string, KubeObject> {
    const table = this.#kinds.get(resource.plural) ?? new Map<string, KubeObject>();
    this.#kinds.set(resource.plural, table);
    return table;
  }

  #subject(resource: ResourceRef, object: KubeObject): { group: string; resource: string; name: string } {
    return { group: resource.group, resource: resource.plural, name: object.metadata.name ?? '' };
  }

  #parts(object: KubeObject): Record<string, unknown> {
    return object as unknown as Record<string, unknown>;
  }
}

/** The model takes merge patches of whole members of the metadata, and no others. */
const metadataIn = (body: unknown): KubeObject['metadata'] => (body as KubeObject).metadata;

function deepFreeze(value: unknown): void {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
}
