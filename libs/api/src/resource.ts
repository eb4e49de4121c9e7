import type { FieldError, FieldSet, JsonObject, StructSchema } from '@holdfast/machinery';
import type { RuleEngine } from './custom/rules.ts';
import type { Features } from './features.ts';
import type { ObjectMeta } from './generated/types.ts';

/** What every stored object has. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** Everything the API needs to know of one kind: one folder per kind fills this form, one registry line serves it. */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, lower case: the path segment. */
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** What discovery lists: `get`, `list`, `create`, ... */
  readonly verbs: readonly string[];
  /** Who deletes one of them is answered with what it was; of other kinds with a `Status`. */
  readonly answersDeleted: boolean;
  /** Fills absent fields in place, before validation of what is created or changed; what is only read stays as it is stored. Idempotent. */
  readonly setDefaults: (object: T) => void;
  readonly strategy: Strategy<T>;
  /** Present when the kind has a `/status` subresource. */
  readonly status?: SubresourceStrategy<T>;
  /** Other subresources that take the whole object: pods `ephemeralcontainers`, namespaces `finalize`, CSR `approval`. */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy<T>>>;
  /** Present when the kind has a `/scale` subresource. */
  readonly scale?: ScaleAccess<T>;
  /** Present when objects of this kind are kept as another kind: two versions or groups of one thing. */
  readonly storedAs?: StoredAs<T>;
  /** Present for kinds that come from a CustomResourceDefinition. */
  readonly custom?: CustomKind;
  readonly columns: readonly Column<T>[];
  /** Conditions of a table row: what a client may hide or stop watching (pods that are done). */
  readonly rowConditions?: (object: Readonly<T>) => readonly RowCondition[];
  /** Present when the rows of a table stand in another order than the list. */
  readonly rowOrder?: (a: Readonly<T>, b: Readonly<T>) => number;
  /** Field selectors beyond `metadata.name` and `metadata.namespace`. Several names may mean the same field. */
  readonly selectableFields: Readonly<Record<string, (object: Readonly<T>) => string>>;
}

/** The other name of an object: `events.k8s.io` events are kept as core events, autoscaling/v1 scalers as v2. */
export interface StoredAs<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly toStored: (object: Readonly<T>) => KubeObject;
  readonly fromStored: (stored: Readonly<KubeObject>) => T;
}

/** What the pipeline does differently for a kind whose schema is known only at run time. */
export interface CustomKind {
  /** Name, uid and generation of the definition. */
  readonly definition: string;
  readonly uid: string;
  readonly generation: number;
  readonly listKind: string;
  /** Versions that are not served still describe objects that are stored in them. */
  readonly served: boolean;
  /** The definition is being deleted: nothing new is created. */
  readonly isTerminating: boolean;
  readonly conversion: 'None' | 'Webhook';
  readonly storageVersion: string;
  /** The warning of a deprecated version. */
  readonly deprecation: string | undefined;
  readonly schema: () => StructSchema;
  readonly openApi: () => JsonObject;
  /** The same kind in another version. */
  readonly sibling: (version: string) => ResourceDefinition | undefined;
  /** Drops from what a client sent what the schema does not have. Throws DecodeError where metadata has wrong types. */
  readonly decode: (value: JsonObject) => { readonly value: JsonObject; readonly unknownFields: readonly string[] };
  /** A stored object of this version, as the schema of today reads it: pruned, with defaults. The input when nothing differs. */
  readonly readStored: (stored: Readonly<KubeObject>) => KubeObject;
  /** Drops what this version does not have from an object of another version. */
  readonly fit: (object: Readonly<KubeObject>) => KubeObject;
}

/** Who sends a request; some kinds record it. */
export interface Requester {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ValidationContext {
  readonly now: number;
  /** Absent where nobody asked (defaulting of stored objects, tests). */
  readonly requester?: Requester;
  /** Absent: DEFAULT_FEATURES. */
  readonly features?: Features;
  /** Checks the rules of custom resources; absent where they have no effect. */
  readonly rules?: RuleEngine;
  /** Takes what is to be said of an object as it came, before it is prepared; absent where nobody listens. */
  readonly warn?: (text: string) => void;
  /** An object whose spec `saysTheSame` has passed every check. */
  readonly isSpecValid?: boolean;
  /** And there was nothing to warn of. */
  readonly isSpecQuiet?: boolean;
}

export interface Strategy<T> {
  /**
   * Clears what a client may not set at create (status, fields of features that are off) and sets what the server owns.
   * The pipeline has set metadata.uid, creationTimestamp and the generated name before.
   */
  readonly prepareForCreate: (object: T, context: ValidationContext) => void;
  /** Copies from `old` what this verb may not change (status). */
  readonly prepareForUpdate: (object: T, old: Readonly<T>, context: ValidationContext) => void;
  readonly validateCreate: (object: Readonly<T>, context: ValidationContext) => readonly FieldError[];
  readonly validateUpdate: (object: Readonly<T>, old: Readonly<T>, context: ValidationContext) => readonly FieldError[];
  /** True where updates are not checked against the old metadata: the pipeline looks itself, whatever they find. */
  readonly leavesMetadata?: boolean;
  /**
   * Present for kinds with a generation: the pipeline sets metadata.generation to 1 at create, and to the old value plus
   * one when this says that the wanted state changed (asked after prepareForUpdate, of updates that are not of the status);
   * otherwise it keeps the old value.
   * Absent: the pipeline keeps the old value, and drops it at create.
   */
  readonly generationChanges?: (object: Readonly<T>, old: Readonly<T>) => boolean;
  /** Texts for `Warning:` headers; `old` is undefined at create. */
  readonly warnings?: (
    object: Readonly<T>,
    old: Readonly<T> | undefined,
    context?: Pick<ValidationContext, 'isSpecQuiet'>,
  ) => readonly string[];
  /** Present where many objects have one spec: whether this object's says the same as one that was valid. */
  readonly saysTheSame?: (object: Readonly<T>, validSpec: unknown) => boolean;
  /** PUT to a name that does not exist creates it (leases, events, ... as in Kubernetes). */
  readonly allowCreateOnUpdate?: boolean;
  /** PUT without resourceVersion overwrites. */
  readonly allowUnconditionalUpdate?: boolean;
  /** What writes of the object itself throw away, so that nobody owns it. Absent: the status, where the kind has one. */
  readonly resets?: FieldSet;
  /**
   * Present for kinds with graceful deletion (pods): the period in seconds, 0 = remove at once. `object` may be
   * terminating already; then a result that is not below metadata.deletionGracePeriodSeconds changes nothing.
   */
  readonly gracefulDeletion?: (object: Readonly<T>, requestedSeconds: number | undefined) => number;
  /** What is said of an object when its deletion begins: who has to finish first. */
  readonly beginsDeletion?: (object: T, now: number) => T;
  /** Why whoever names an object of this name may not delete it; what deletes a whole collection asks nobody. */
  readonly refusesDeletion?: (name: string) => string | undefined;
  /** A delete that does not say what becomes of the dependents leaves them behind, with this warning. */
  readonly orphansByDefault?: { readonly warning?: string };
}

export interface SubresourceStrategy<T> {
  /** Absent: get, patch, update. */
  readonly verbs?: readonly ('get' | 'patch' | 'update')[];
  /** What it throws away, so that nobody owns it through it. Absent: the spec, where it is that of the status. */
  readonly resets?: FieldSet;
  /** Copies everything but what the subresource may set from `old`. */
  readonly prepareForUpdate: (object: T, old: Readonly<T>, context: ValidationContext) => void;
  readonly validateUpdate: (object: Readonly<T>, old: Readonly<T>, context: ValidationContext) => readonly FieldError[];
}

export interface ScaleAccess<T> {
  readonly replicas: (object: Readonly<T>) => number;
  readonly statusReplicas: (object: Readonly<T>) => number;
  /** In the text form of a label selector. */
  readonly selector: (object: Readonly<T>) => string;
  readonly setReplicas: (object: T, replicas: number) => void;
  /** Why there is no scale to be shown: the object does not say how many replicas it wants. */
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
  readonly cell: (object: Readonly<T>, context: { readonly now: number }) => string | number | boolean | null;
}

/** Enough to address a kind, with its TypeScript type attached (see refs.ts: `PODS`, `DEPLOYMENTS`, ...). */
export interface ResourceRef<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries the type only; never set. */
  readonly type?: T;
}
