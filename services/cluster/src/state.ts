import type { Authority, IssuedCertificate } from '@holdfast/pki/cluster-pki';
import type { Revision, StoredObject } from '@holdfast/store';
import type { HollowStates } from './hollow-nodes.ts';

/** The content of a store, as of one revision. The objects are never changed, so that many stores share them. */
export interface StoreContent {
  readonly objects: readonly StoredObject[];
  readonly revision: Revision;
}

/** Everything from which a cluster can continue. */
export interface ClusterState extends StoreContent {
  /** True when an API server of this version has written the system objects. */
  readonly isComplete: boolean;
  readonly hollow: HollowStates;
  readonly nowMs: number;
  /** Distinguishes the ids of a cluster from those of the cluster that it comes from. */
  readonly generation: string;
}

/** The secrets of a cluster. A fork in the same process has the same ones. */
export interface ClusterKeys {
  readonly pki: Authority;
  /** PEM; of the HTTPS port. Default: one that the authority issues when the port opens. */
  readonly server?: IssuedCertificate;
  /** PEM; signs the tokens of service accounts. */
  readonly serviceAccountKey: string;
  /** The issuer of the tokens of service accounts. Default: that of Kubernetes in a cluster. */
  readonly serviceAccountIssuer?: string;
  /** PEM: another authority whose client certificates are valid. */
  readonly clientCa?: string;
}

/** PEM of the authorities whose client certificates are valid. */
export const clientAuthorities = ({ pki, clientCa }: ClusterKeys): string =>
  clientCa === undefined ? pki.caCertificate : `${pki.caCertificate.trimEnd()}\n${clientCa}`;
