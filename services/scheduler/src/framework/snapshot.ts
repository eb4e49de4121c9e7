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

/** Everything a decision may look at. It does not change while a decision is made. */
export interface Snapshot {
  readonly nodes: readonly NodeInfo[];
  /** Another one after each change of a node that a decision can see, and after each that came or went. */
  readonly version: number;
  node(name: string): NodeInfo | undefined;
  /** Pods of a group by node, kept current: asking costs nothing per placed pod. */
  countsOf(group: PodGroup): CountsByNode;
  /** The same by domain: nodes that share a value of the view's key. */
  domainsOf(group: PodGroup, view: DomainView): DomainCounts;
  /** What pods with equal needs learned about the nodes. */
  sharedBy(profile: Profile, pod: PodInfo): NodeResults;
  /** What placed pods may wish about this one: each distinct wish once, with the nodes of those who have it. */
  placedTerms(pod: PodInfo, kind: TermKind): Iterable<PlacedTerms>;
  readonly namespaceLabels: NamespaceLabels;
  /** Whether room is being made for any pod on any node. */
  readonly anyNominated: boolean;
  /** Whether any node has a taint that only makes it less liked. */
  readonly anySoftTaint: boolean;
  /** Pods that wait for room that is being made for them on this node. */
  nominatedOn(name: string): readonly PodInfo[];
  /** The node on which room is being made for this pod, '' for none. */
  nominationOf(pod: PodInfo): string;
  /** Nodes that hold a container image. */
  nodesWithImage(image: string): number;
  /** Bytes. */
  imageSize(image: string): number;
  /** Placed pods that use a claim (`namespace/name`). */
  usersOfClaim(claim: string): readonly PodInfo[];
  readonly volumes: Volumes;
  readonly owners: OwnerSelectors;
}

/** One pod being decided on. */
export interface Cycle {
  readonly pod: PodInfo;
  readonly snapshot: Snapshot;
}
