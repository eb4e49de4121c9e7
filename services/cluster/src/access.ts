import type { ApiClient } from '@holdfast/client';
import type { StateDifference } from './difference.ts';
import type { ClusterFetch } from './fetch.ts';
import type { HistoryChange, HistoryQuery } from './history.ts';
import type { Lens, LensOptions } from './lens/index.ts';
import type { RevisionRange } from './revision-diff.ts';
import type { Snapshot } from './snapshot.ts';

/** The way of one user to a cluster. */
export interface ClusterAccess {
  /** For programs: kubectl, client libraries, operators. Throws when the cluster has no HTTPS port. */
  readonly kubeconfig: string;
  readonly client: ApiClient;
  /** As in the web platform, with a path instead of an address. */
  readonly fetch: ClusterFetch;
}

export interface NewUser {
  readonly name: string;
  /** Default: none but `system:authenticated`. `system:masters` may do everything. */
  readonly groups?: readonly string[];
}

/** A whole cluster in this process. Its members of `ClusterAccess` are those of an administrator. */
export interface Cluster extends ClusterAccess, AsyncDisposable {
  /** `https://127.0.0.1:<port>`. Throws when the cluster has no HTTPS port. */
  readonly url: string;
  /** The time of the cluster, in milliseconds since 1970 as `Date.now()` has them. */
  now(): number;
  /**
   * Lets virtual time pass: `'5m'`, `'90s'`, or milliseconds. Resolves when everything that it caused has happened. Rejects on
   * real time.
   */
  advance(duration: string | number): Promise<void>;
  /** Resolves when nothing happens any more without time. */
  settle(): Promise<void>;
  /** Resolves with the first true value of the condition. Time passes meanwhile; rejects after `within` of it. */
  until<T>(condition: () => T | Promise<T>, within?: string | number): Promise<T>;
  /** Another user, with a way of its own. Give it rights by RBAC, or the group `system:masters`. */
  access(user: NewUser): ClusterAccess;
  /** Shows a fault to one client only. Everybody else sees the truth. */
  lens(options: LensOptions): Promise<Lens>;
  /** What changed, who wrote it, and what the writer had seen. */
  history(query?: HistoryQuery): Promise<readonly HistoryChange[]>;
  /** What differs between two revisions, or since one. */
  diff(range: RevisionRange): Promise<readonly StateDifference[]>;
  /** Copies references, no objects. */
  snapshot(): Promise<Snapshot>;
  /** Puts a snapshot in place of the present state. Users, port and kubeconfig stay; watches end. */
  restore(snapshot: Snapshot): Promise<void>;
  /** Puts the state of its start in place of the present one: of a fork, its snapshot. Otherwise as `restore`. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}
