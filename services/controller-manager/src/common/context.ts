import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ApiClient, EventRecorder, Informer, ReconcileResult } from '@holdfast/client';
import type { Clock, Log } from '@holdfast/platform';

import type { CustomKinds } from './kind-pool.ts';

/** The tools of a controller. `client` carries the controller's own identity. */
export interface ControllerContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly client: ApiClient;
  readonly events: EventRecorder;
  readonly informers: SharedInformers;
  /** Absent where no definitions are served. */
  readonly customKinds?: CustomKinds;
  /** Of servers behind the API server; of their objects nothing is known but the metadata. */
  readonly aggregatedKinds?: CustomKinds;
}

/** One cache per kind, shared by all controllers of the process, with the indexes of its kind (`cacheIndexesOf`). */
export interface SharedInformers {
  of<T extends KubeObject>(resource: ResourceRef<T>): Informer<T>;
}

/** A pass over one key. Rejecting means: again, with back-off. */
export type Reconcile = (key: string) => Promise<ReconcileResult>;

/** One work queue with its reconcile function. */
export interface Loop {
  readonly name: string;
  readonly workers: number;
  /** Registers what wakes a key; returns what unregisters it. Called after every cache is filled. */
  readonly wake: (enqueue: (key: string) => void) => readonly (() => void)[];
  readonly reconcile: Reconcile;
  /** Keys that are due at start. Called directly after `wake`, so that nothing is missed in between. */
  readonly initialKeys: () => readonly string[];
}

export type ControllerIdentity = 'manager' | 'podGc' | 'certificates';

/** One entry of the registry. */
export interface ControllerDefinition {
  /** Its name in `--controllers`. */
  readonly name: string;
  /** The source component of its events. */
  readonly component: string;
  /**
   * The identity of its client: only the pod garbage collector may end pods, and only of lost nodes; only the
   * certificate controllers may approve and sign.
   */
  readonly identity: ControllerIdentity;
  /** Never left out by `--controllers`: without it the cluster breaks a promise. */
  readonly isMandatory?: boolean;
  /** Kinds whose caches have to be filled before it may decide. */
  readonly watches: readonly ResourceRef[];
  readonly create: (context: ControllerContext) => readonly Loop[];
}
