import type { DomainCounts, DomainView } from '../domain/domain-counts.ts';
import type { CountsByNode, PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import type { NodeResults } from '../domain/node-results.ts';
import type { OwnerSelectors } from '../domain/owner-selectors.ts';
import type { NamespaceLabels } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { PlacedTerms, TermKind } from '../domain/term-index.ts';
import type { Volumes } from '../domain/volumes.ts';
import type { Profile } from './profile.ts';

/** Everything that a decision may read. It does not change during a decision. */
export interface Snapshot {
  readonly nodes: readonly NodeInfo[];
  /** Changes after each node change that a decision can see, and after each added or removed node. */
  readonly version: number;
  node(name: string): NodeInfo | undefined;
  /** Pods of a group by node, kept current: a query costs nothing per placed pod. */
  countsOf(group: PodGroup): CountsByNode;
  /** The same by domain: nodes with the same value of the view's key. */
  domainsOf(group: PodGroup, view: DomainView): DomainCounts;
  /** Shared results of pods with equal needs. */
  sharedBy(profile: Profile, pod: PodInfo): NodeResults;
  /** Terms of placed pods that may match this pod: each distinct term once, with its nodes. */
  placedTerms(pod: PodInfo, kind: TermKind): Iterable<PlacedTerms>;
  readonly namespaceLabels: NamespaceLabels;
  /** True when any pod is nominated for any node. */
  readonly anyNominated: boolean;
  /** True when any node has a PreferNoSchedule taint. */
  readonly anySoftTaint: boolean;
  /** The pods nominated for this node. */
  nominatedOn(name: string): readonly PodInfo[];
  /** The node for which this pod is nominated, '' for none. */
  nominationOf(pod: PodInfo): string;
  /** The number of nodes with a container image. */
  nodesWithImage(image: string): number;
  /** Bytes. */
  imageSize(image: string): number;
  /** Placed pods that use a claim (`namespace/name`). */
  usersOfClaim(claim: string): readonly PodInfo[];
  readonly volumes: Volumes;
  readonly owners: OwnerSelectors;
}

/** The decision about one pod. */
export interface Cycle {
  readonly pod: PodInfo;
  readonly snapshot: Snapshot;
}
