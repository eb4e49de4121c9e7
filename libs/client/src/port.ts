import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { Service } from '@holdfast/platform';

/** Names one object. Omit `namespace` for cluster-scoped kinds. */
export interface Target {
  readonly namespace?: string;
  readonly name: string;
}

export interface ListSelection {
  /** Absent means all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Nothing of the objects but their metadata. */
  readonly metadataOnly?: true;
}

export interface KubeList<T> {
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
  /** The reader's view of the history, if it requested that (see `seen.ts`). */
  readonly seen?: string | undefined;
  readonly items: readonly T[];
}

export interface TypedWatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export interface DeleteRequest {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** Precondition: the server rejects the delete with 409 when the stored object has another uid or version. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** One resource in discovery. */
export interface DiscoveredResource {
  readonly ref: ResourceRef;
  readonly verbs: readonly string[];
}

export type PatchType = 'json' | 'merge' | 'strategic';

/**
 * Typed access of one identity to the API. Returned objects are deep-frozen and may be shared: copy before you change
 * them. Every method rejects with `StatusError` (the server answered with an error) or `TransportError` (no answer in
 * time).
 */
export interface ApiClient {
  /** With `subresource`, reads the part of the object that has a kind of its own; pass the reference of that kind. */
  get<T extends KubeObject>(resource: ResourceRef<T>, target: Target, subresource?: 'scale'): Promise<T>;
  /** Like `get`, but resolves with `undefined` for 404. */
  find<T extends KubeObject>(resource: ResourceRef<T>, target: Target): Promise<T | undefined>;
  list<T extends KubeObject>(
    resource: ResourceRef<T>,
    options?: ListSelection & {
      readonly limit?: number;
      readonly continueToken?: string;
      readonly resourceVersion?: string;
      readonly seen?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<KubeList<T>>;
  /**
   * Ends when the server ends the stream or the signal aborts. Rejects with a 410 `StatusError` when the history is
   * compacted.
   */
  watch<T extends KubeObject>(
    resource: ResourceRef<T>,
    options: ListSelection & {
      readonly resourceVersion: string;
      /** With it, bookmarks carry the reader's view of the history. */
      readonly seen?: string;
      readonly signal: AbortSignal;
      readonly timeoutSeconds?: number;
      readonly allowBookmarks?: boolean;
    },
  ): AsyncIterable<TypedWatchEvent<T>>;
  create<T extends KubeObject>(resource: ResourceRef<T>, object: T): Promise<T>;
  /** Compare-and-swap on the object's `metadata.resourceVersion`. */
  update<T extends KubeObject>(resource: ResourceRef<T>, object: T): Promise<T>;
  updateStatus<T extends KubeObject>(resource: ResourceRef<T>, object: T): Promise<T>;
  /** The same for a subresource: `finalize` of a namespace, `approval` of a request, `scale` of a scalable object. */
  updateSubresource<T extends KubeObject>(resource: ResourceRef<T>, object: T, subresource: string): Promise<T>;
  patch<T extends KubeObject>(
    resource: ResourceRef<T>,
    target: Target,
    patch: { readonly type: PatchType; readonly body: unknown; readonly subresource?: 'status' | 'scale' },
  ): Promise<T>;
  delete<T extends KubeObject>(resource: ResourceRef<T>, target: Target, request?: DeleteRequest): Promise<void>;
  /** Lists the resources of a version, without subresources, as the serving server reports them. */
  resourcesOf(group: string, version: string): Promise<readonly DiscoveredResource[]>;
  /** Binds a pod to a node. Rejects with 409 when the pod is already bound or is a different pod now. */
  bind(target: Target, nodeName: string, uid: string): Promise<void>;
  /** Evicts a pod. Rejects with 429 while a disruption budget forbids it. */
  evict(target: Target, request?: DeleteRequest): Promise<void>;
}

/**
 * A local, indexed, eventually current copy of one resource (or a selected part of it). It is kept by a list, bus
 * messages and recovery from the API.
 */
export interface Informer<T extends KubeObject> extends Service {
  /** Resolves after the first complete list was applied. */
  synced(): Promise<void>;
  get(target: Target): T | undefined;
  list(namespace?: string): readonly T[];
  /** The number of objects that `list` would return. */
  count(namespace?: string): number;
  /** Objects for which the index function (see `InformerOptions.indexes`) returned `value`. */
  byIndex(index: string, value: string): readonly T[];
  /**
   * Calls `listener` after the cache changed. `object` absent means deleted, `old` absent means new. Returns the
   * unsubscribe function.
   */
  onChange(listener: (change: InformerChange<T>) => void): () => void;
  /** Highest revision that this copy reflects. */
  revision(): number;
  /** True when the copy reflects at least this revision of one object. That includes a later deletion of the object. */
  reflects(target: Target, revision: number): boolean;
}

export interface InformerChange<T> {
  /** `namespace/name`, or `name` for cluster-scoped objects. */
  readonly key: string;
  readonly object: T | undefined;
  readonly old: T | undefined;
}

/**
 * Keys to reconcile: deduplicated, never processed twice at the same time, with back-off per key (client-go semantics).
 */
export interface WorkQueue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Adds the key with its exponential back-off. */
  addRateLimited(key: string): void;
  /** Resets the key's back-off. */
  forget(key: string): void;
  /** Resolves with the next key, or `undefined` after shutdown. The caller must then call `done(key)`. */
  take(): Promise<string | undefined>;
  done(key: string): void;
  /** The spans that asked for the key that was just taken, with tracing on. They are forgotten. */
  readonly takeCauses?: (key: string) => readonly string[];
  length(): number;
  shutDown(): void;
}

/** The result of one reconcile pass. */
export interface ReconcileResult {
  /** Requeue the key after this time even if nothing changes. */
  readonly requeueAfterMs?: number;
}

export interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** The part of the object that the event is about: `spec.containers{web}`. */
  readonly fieldPath?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The action that was taken: `Binding`. */
  readonly action?: string;
  /** A second object of the event: the pod for which another pod is preempted. */
  readonly related?: KubeObject;
}

export interface EventRecorder {
  /** Never rejects and never blocks the caller: events only inform. Equal events raise a count. */
  event(about: KubeObject, event: EventText): void;
}
