import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { Service } from '@holdfast/platform';

/** Names one object. `namespace` is left out for cluster-scoped kinds. */
export interface Target {
  readonly namespace?: string;
  readonly name: string;
}

export interface ListSelection {
  /** Absent = all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface KubeList<T> {
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
  /** What a reader of the list has seen, if it asked to be told (see `seen.ts`). */
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
  /** Preconditions: refuse with 409 when the stored object is another one. */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** What discovery says of one resource. */
export interface DiscoveredResource {
  readonly ref: ResourceRef;
  readonly verbs: readonly string[];
}

export type PatchType = 'json' | 'merge' | 'strategic';

/**
 * The typed face of one identity's access to the API. Objects that come back are deep-frozen and may be shared: copy before
 * changing. Every method rejects with `StatusError` (an answer) or `TransportError` (no answer in time).
 */
export interface ApiClient {
  /** With a subresource: the part of the object that has a form of its own; the reference names that form. */
  get<T extends KubeObject>(resource: ResourceRef<T>, target: Target, subresource?: 'scale'): Promise<T>;
  /** Like `get`, `undefined` for 404. */
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
  /** Ends when the server ends it or the signal aborts; rejects with a 410 `StatusError` when history is gone. */
  watch<T extends KubeObject>(
    resource: ResourceRef<T>,
    options: ListSelection & {
      readonly resourceVersion: string;
      /** Bookmarks then carry what their reader has seen. */
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
  /** The same for a subresource: `finalize` of a namespace, `approval` of a request, `scale` of what can be scaled. */
  updateSubresource<T extends KubeObject>(resource: ResourceRef<T>, object: T, subresource: string): Promise<T>;
  patch<T extends KubeObject>(
    resource: ResourceRef<T>,
    target: Target,
    patch: { readonly type: PatchType; readonly body: unknown; readonly subresource?: 'status' | 'scale' },
  ): Promise<T>;
  delete<T extends KubeObject>(resource: ResourceRef<T>, target: Target, request?: DeleteRequest): Promise<void>;
  /** The resources of a version, without subresources, as whoever serves it tells them. */
  resourcesOf(group: string, version: string): Promise<readonly DiscoveredResource[]>;
  /** Assigns a pod to a node; 409 when it has one already or is another pod now. */
  bind(target: Target, nodeName: string, uid: string): Promise<void>;
  /** Deletes a pod unless a disruption budget forbids it (429). */
  evict(target: Target, request?: DeleteRequest): Promise<void>;
}

/** A local, indexed, eventually current copy of one resource (or a selected part), kept by list + bus events + healing. */
export interface Informer<T extends KubeObject> extends Service {
  /** Resolves after the first complete list was applied. */
  synced(): Promise<void>;
  get(target: Target): T | undefined;
  list(namespace?: string): readonly T[];
  /** How many `list` would return. */
  count(namespace?: string): number;
  /** Objects for which the index function (see `InformerOptions.indexes`) returned `value`. */
  byIndex(index: string, value: string): readonly T[];
  /** Calls back after the cache changed. `object` absent = deleted, `old` absent = new. Returns the unsubscribe function. */
  onChange(listener: (change: InformerChange<T>) => void): () => void;
  /** Highest revision this copy is known to reflect. */
  revision(): number;
  /** Whether it is known to reflect at least this revision of one object: so also when a later deletion of it has arrived. */
  reflects(target: Target, revision: number): boolean;
}

export interface InformerChange<T> {
  /** `namespace/name`, or `name` for cluster-scoped objects. */
  readonly key: string;
  readonly object: T | undefined;
  readonly old: T | undefined;
}

/** Keys to work on: de-duplicated, never handed out twice at once, with per-key back-off (client-go semantics). */
export interface WorkQueue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Adds with the key's exponential back-off. */
  addRateLimited(key: string): void;
  /** Forgets the key's back-off. */
  forget(key: string): void;
  /** Next key; `undefined` once shut down. Must be followed by `done(key)`. */
  take(): Promise<string | undefined>;
  done(key: string): void;
  length(): number;
  shutDown(): void;
}

/** What a pass over one key may ask for. */
export interface ReconcileResult {
  /** Look at the key again after this time even if nothing happens. */
  readonly requeueAfterMs?: number;
}

export interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** The part of the object that it is about: `spec.containers{web}`. */
  readonly fieldPath?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** What was being done: `Binding`. */
  readonly action?: string;
  /** Another object that plays a part: for whom a pod has to go. */
  readonly related?: KubeObject;
}

export interface EventRecorder {
  /** Never rejects and never blocks its caller: events inform, nothing depends on them. Equal events are counted up. */
  event(about: KubeObject, event: EventText): void;
}
