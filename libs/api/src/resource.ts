import type { FieldError, FieldSet, JsonObject, StructSchema } from '@holdfast/machinery';
import type { RuleEngine } from './custom/rules.ts';
import type { Features } from './features.ts';
import type { ObjectMeta } from './generated/types.ts';

/** Fields of every stored object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/**
 * Everything the API needs to know about one kind. Each kind's folder fills in this interface, and one registry line
 * serves it.
 */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural in lower case: the path segment. */
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** The verbs in discovery: `get`, `list`, `create`, ... */
  readonly verbs: readonly string[];
  /** True: a delete responds with the deleted object. False: it responds with a `Status`. */
  readonly answersDeleted: boolean;
  /** Fills in absent fields in place, before the validation of a create or update. Reads do not call it. Idempotent. */
  readonly setDefaults: (object: T) => void;
  readonly strategy: Strategy<T>;
  /** Present when the kind has a `/status` subresource. */
  readonly status?: SubresourceStrategy<T>;
  /** Other subresources that take the whole object: pods `ephemeralcontainers`, namespaces `finalize`, CSR `approval`. */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy<T>>>;
  /** Present when the kind has a `/scale` subresource. */
  readonly scale?: ScaleAccess<T>;
  /** Present when objects of this kind are stored as another kind: two versions or groups of one resource. */
  readonly storedAs?: StoredAs<T>;
  /** Present for kinds that come from a CustomResourceDefinition. */
  readonly custom?: CustomKind;
  readonly columns: readonly Column<T>[];
  /** Conditions of a table row: clients may hide or stop watching such objects (finished pods). */
  readonly rowConditions?: (object: Readonly<T>) => readonly RowCondition[];
  /** Present when table rows have another order than the list. */
  readonly rowOrder?: (a: Readonly<T>, b: Readonly<T>) => number;
  /** Field selectors beyond `metadata.name` and `metadata.namespace`. Several names may mean the same field. */
  readonly selectableFields: Readonly<Record<string, (object: Readonly<T>) => string>>;
}

/** The stored kind of an alias: `events.k8s.io` events are stored as core events, autoscaling/v1 autoscalers as v2. */
export interface StoredAs<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly toStored: (object: Readonly<T>) => KubeObject;
  readonly fromStored: (stored: Readonly<KubeObject>) => T;
}

/** Pipeline behaviour of a kind whose schema is known only at run time. */
export interface CustomKind {
  /** Name, uid and generation of the definition. */
  readonly definition: string;
  readonly uid: string;
  readonly generation: number;
  readonly listKind: string;
  /** Versions that are not served still describe objects stored in them. */
  readonly served: boolean;
  /** The definition is being deleted: creates are refused. */
  readonly isTerminating: boolean;
  readonly conversion: 'None' | 'Webhook';
  readonly storageVersion: string;
  /** The warning of a deprecated version. */
  readonly deprecation: string | undefined;
  readonly schema: () => StructSchema;
  readonly openApi: () => JsonObject;
  /** The same kind in another version. */
  readonly sibling: (version: string) => ResourceDefinition | undefined;
  /** Drops undeclared fields from a request body. Throws DecodeError when metadata has wrong types. */
  readonly decode: (value: JsonObject) => { readonly value: JsonObject; readonly unknownFields: readonly string[] };
  /**
   * Reads a stored object of this version with the current schema: pruned, with defaults. Returns the input when
   * nothing differs.
   */
  readonly readStored: (stored: Readonly<KubeObject>) => KubeObject;
  /** Drops the fields that this version lacks from an object of another version. */
  readonly fit: (object: Readonly<KubeObject>) => KubeObject;
}

/** The user of a request; some kinds record it. */
export interface Requester {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ValidationContext {
  readonly now: number;
  /** Absent without a request (defaulting of stored objects, tests). */
  readonly requester?: Requester;
  /** Default: DEFAULT_FEATURES. */
  readonly features?: Features;
  /** Evaluates the rules of custom resources; absent when they have no effect. */
  readonly rules?: RuleEngine;
  /** Takes warnings about the object as sent, before preparation; absent when nothing listens. */
  readonly warn?: (text: string) => void;
  /** True when the spec `saysTheSame` as one that passed all checks. */
  readonly isSpecValid?: boolean;
  /** True when that spec also caused no warnings. */
  readonly isSpecQuiet?: boolean;
}

export interface Strategy<T> {
  /**
   * Clears fields that a client may not set on create (status, fields of disabled features) and sets fields that the
   * server owns. The pipeline has already set metadata.uid, creationTimestamp and the generated name.
   */
  readonly prepareForCreate: (object: T, context: ValidationContext) => void;
  /** Copies from `old` the fields that this verb may not change (status). */
  readonly prepareForUpdate: (object: T, old: Readonly<T>, context: ValidationContext) => void;
  readonly validateCreate: (object: Readonly<T>, context: ValidationContext) => readonly FieldError[];
  readonly validateUpdate: (object: Readonly<T>, old: Readonly<T>, context: ValidationContext) => readonly FieldError[];
  /** True when updates skip the check against the old metadata. Then the pipeline makes that check itself. */
  readonly leavesMetadata?: boolean;
  /**
   * Present for kinds with a generation. The pipeline sets metadata.generation to 1 on create. On an update that is not
   * of the status it calls this after prepareForUpdate, and increments the old value when it returns true, because the
   * wanted state changed. Otherwise it keeps the old value. When absent, the pipeline keeps the old value and drops it
   * on create.
   */
  readonly generationChanges?: (object: Readonly<T>, old: Readonly<T>) => boolean;
  /** Returns texts for `Warning:` headers; `old` is undefined on create. */
  readonly warnings?: (
    object: Readonly<T>,
    old: Readonly<T> | undefined,
    context?: Pick<ValidationContext, 'isSpecQuiet'>,
  ) => readonly string[];
  /** Present when many objects share one spec: compares this object's spec with a valid one. */
  readonly saysTheSame?: (object: Readonly<T>, validSpec: unknown) => boolean;
  /** PUT to a name that does not exist creates the object (leases, events, ... as in Kubernetes). */
  readonly allowCreateOnUpdate?: boolean;
  /** PUT without resourceVersion overwrites. */
  readonly allowUnconditionalUpdate?: boolean;
  /**
   * Fields that writes of the object itself drop, so that nobody owns them. Default: the status, if the kind has one.
   */
  readonly resets?: FieldSet;
  /**
   * Present for kinds with graceful deletion (pods): returns the period in seconds, 0 = remove immediately. `object`
   * may already be terminating; then only a result below metadata.deletionGracePeriodSeconds has an effect.
   */
  readonly gracefulDeletion?: (object: Readonly<T>, requestedSeconds: number | undefined) => number;
  /** Changes an object at the start of its deletion: records what must finish first. */
  readonly beginsDeletion?: (object: T, now: number) => T;
  /** Returns why an object of this name cannot be deleted. Deleting a collection does not call it. */
  readonly refusesDeletion?: (name: string) => string | undefined;
  /** A delete without a propagation policy orphans the dependents, with this warning. */
  readonly orphansByDefault?: { readonly warning?: string };
}

export interface SubresourceStrategy<T> {
  /** Default: get, patch, update. */
  readonly verbs?: readonly ('get' | 'patch' | 'update')[];
  /** Fields that it drops, so that nobody owns them through it. Default: the spec, for the status subresource. */
  readonly resets?: FieldSet;
  /** Copies from `old` everything that the subresource may not change. */
  readonly prepareForUpdate: (object: T, old: Readonly<T>, context: ValidationContext) => void;
  readonly validateUpdate: (object: Readonly<T>, old: Readonly<T>, context: ValidationContext) => readonly FieldError[];
}

export interface ScaleAccess<T> {
  readonly replicas: (object: Readonly<T>) => number;
  readonly statusReplicas: (object: Readonly<T>) => number;
  /** Returns the text form of a label selector. */
  readonly selector: (object: Readonly<T>) => string;
  readonly setReplicas: (object: T, replicas: number) => void;
  /** Returns why there is no scale: the object does not specify its replicas. */
  readonly missing?: (object: Readonly<T>) => string | undefined;
}

export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** One column of `kubectl get`. */
export interface Column<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string;
  /** 0 = always, 1 = `-o wide`. */
  readonly priority: 0 | 1;
  readonly cell: (object: Readonly<T>, context: { readonly now: number }) => string | number | bigint | boolean | null;
}

/** The address of a kind, with its TypeScript type (see refs.ts: `PODS`, `DEPLOYMENTS`, ...). */
export interface ResourceRef<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries only the type; never set. */
  readonly type?: T;
}
