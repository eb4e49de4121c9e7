import type { DeleteOptions, KubeObject, ResourceDefinition } from '@holdfast/api';
import type { JsonObject } from '@holdfast/machinery';
import type { Clock, Ids, Log } from '@holdfast/platform';
import type { WriteOperation, WriteResult } from '@holdfast/store';
import type { ClaimReader } from '../allocation/claims.ts';
import type { Range } from '../allocation/ranges.ts';
import type { AuditNotes, Remarks } from '../audit/notes.ts';
import type { User } from '../authentication/identity.ts';
import type { Access } from '../authorization/access.ts';
import type { ObjectReader } from '../cache/reader.ts';
import type { Kinds } from '../kinds/custom-kinds.ts';
import { subjectOf } from '../objects/object-keys.ts';
import type { WebhookCaller } from '../service-calls/port.ts';
import type { Attributes } from './dynamic/attributes.ts';
import type { Converter } from './dynamic/views.ts';
import type { AdmissionMetrics } from './metrics.ts';
import type { OptionalPlugin } from './optional-plugins-setting.ts';

/** One write on its way to the store. */
export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly definition: ResourceDefinition;
  /** '' for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** '' while a name is still to be generated. */
  readonly name: string;
  readonly user: User;
  /** The object to store; absent for DELETE. Plugins change it only in `admit`. */
  readonly object: KubeObject | undefined;
  /** The currently stored object, frozen; absent for CREATE. */
  readonly old: KubeObject | undefined;
  /** DELETE only; plugins change it in `admit` only. */
  readonly deleteOptions?: DeleteOptions;
  /** UPDATE only: the client sends an object of another kind than the stored one. */
  readonly representation?: Representation;
  readonly dryRun: boolean;
  /** Webhooks and policies have seen what the client posted, and do not see the write that follows from it. */
  readonly isReviewed?: boolean;
  /** UPDATE only: whether the client names the state that it replaces. */
  readonly namesRevision?: () => boolean;
  readonly warn: (text: string) => void;
  /** Absent: the request is not audited. */
  readonly audit: AuditNotes | undefined;
  /** For `validate`: adds operations to the store write of the object. */
  readonly accompany: (companion: WriteCompanion) => void;
}

/** The kind that a subresource reads and writes. Webhooks and policies see objects of this kind; plugins see the stored ones. */
export interface Representation {
  readonly kind: Attributes['kind'];
  readonly of: (object: KubeObject) => JsonObject;
  /** Changes the object as the representation of it was changed. Throws when the representation is invalid. */
  readonly applyTo: (object: KubeObject, representation: JsonObject) => void;
}

/**
 * Writes of other objects that belong to the write of an object: all are stored, or none. Several companions of one
 * write run inside each other, in the order of their plugins.
 */
export interface WriteCompanion {
  /**
   * The object is created or updated. Calls `commit` with the object, which it may complete in a copy, and with
   * operations of its own; calls it again with others while only these lose. Resolves with the last result. Throws when
   * the object may not be written after all.
   */
  readonly write: (object: KubeObject, commit: Commit) => Promise<WriteResult>;
  /**
   * The same in a dry run: resolves with the object as it would be stored, and keeps nothing. Absent: `write` does not
   * change the object.
   */
  readonly rehearse?: (object: KubeObject) => Promise<KubeObject>;
  /** The object is removed instead: operations of the same store write. Absent: there are none. */
  readonly release?: () => Promise<readonly WriteOperation[]>;
}

export type Commit = (object: KubeObject, own: readonly WriteOperation[]) => Promise<CommitResult>;

export interface CommitResult {
  readonly result: WriteResult;
  /** The index in `own` of the operation that lost. Absent: the write is stored, or lost by something else. */
  readonly lostOwn: number | undefined;
}

export interface AdmissionDeps {
  readonly reader: ObjectReader;
  readonly kinds: Kinds;
  readonly convert: Converter;
  readonly log: Log;
  /** Calls webhooks. */
  readonly webhooks: WebhookCaller;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly metrics: AdmissionMetrics;
  readonly access: Access;
  /** `mounted`: every pod gets a service account and a token volume; `off` where no tokens are issued. */
  readonly serviceAccounts: 'mounted' | 'off';
  readonly defaultTolerationSeconds: number;
  readonly claims: ClaimReader;
  /** The addresses that services may get. */
  readonly serviceAddresses: Range;
  /** False: the feature gate PodPriority is off. */
  readonly podPriority: boolean;
  /** False: no container may be privileged. */
  readonly allowPrivileged: boolean;
  /** Plugins of Kubernetes that are off by default, and on here. */
  readonly optionalPlugins: ReadonlySet<OptionalPlugin>;
  /** `off` plants a bug for the simulator: everybody may remove a bound pod. */
  readonly ownershipRule: 'enforced' | 'off';
}

/**
 * Every phase may refuse by throwing a `StatusError`. They run again for every compare-and-swap attempt, the first of which may be about
 * an old state: what a phase does beside its request belongs into a companion of the write.
 */
export interface AdmissionPlugin {
  readonly name: string;
  /** Cheap test whether the plugin has anything to do. */
  readonly handles: (request: AdmissionRequest) => boolean;
  /** May change `request.object`. */
  readonly admit?: (request: AdmissionRequest) => Promise<void> | void;
  /**
   * Completes `request.object` when nothing else changes it any more, right before its kind validates it. What it
   * refuses is reported alone, before all errors of validation.
   */
  readonly settle?: (request: AdmissionRequest) => void;
  /** Sees the object as it will be stored. */
  readonly validate?: (request: AdmissionRequest) => Promise<void> | void;
  /** Sees a request whose object is not stored: a connection, a binding, an eviction, a token. */
  readonly review?: (attributes: Attributes, remarks: Remarks) => Promise<void> | void;
}

export type AdmissionPluginFactory = (deps: AdmissionDeps) => AdmissionPlugin;

export const isCore = (request: AdmissionRequest, plural: string): boolean =>
  request.definition.group === '' && request.definition.plural === plural;

/** Whom a refusal names: an object whose name is still to be generated is known by its prefix. */
export function subjectOfRequest({ definition, name, object }: AdmissionRequest): ReturnType<typeof subjectOf> {
  const known = name || object?.metadata.name || object?.metadata.generateName || 'Unknown';
  return subjectOf(definition, known);
}
