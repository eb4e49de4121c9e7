import type { NodeRejection } from '../framework/prepared.ts';
import type { Profile } from '../framework/profile.ts';
import { SHARED_RESULTS_MAX, SHARED_RESULTS_MIN } from '../limits.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import { TrialResults } from './trial-results.ts';

/** Counts node checks and reused results. */
export interface SharingCounts {
  checks: number;
  scores: number;
  /** Nodes on which victims were determined. */
  trials: number;
}

/** The shared result where no node fits, valid until a node changes. */
export interface SharedRefusal {
  /** The version of the snapshot. */
  readonly version: number;
  readonly rejections: ReadonlyMap<string, NodeRejection>;
  readonly plugins: ReadonlySet<string>;
}

interface Promised {
  readonly nominated: readonly PodInfo[];
  /** The priority of the pod: less important nominated pods do not matter to it. */
  readonly priority: number;
}

interface WithPromised extends Promised {
  readonly changes: number;
  readonly rejection: NodeRejection | undefined;
}

/** Results per node for pods with equal needs, valid until the node changes. Nodes are identified by slot. */
export class NodeResults {
  readonly trials = new TrialResults();
  refusal: SharedRefusal | undefined;
  readonly #counts: SharingCounts;
  /** The change number of the node for which the result is valid; 0 = no result. */
  #checkedAt = new Float64Array(0);
  #scoredAt = new Float64Array(0);
  #scores = new Float64Array(0);
  readonly #rejections: (NodeRejection | undefined)[] = [];
  readonly #promised = new Map<number, WithPromised>();

  /** The same with nominated pods on the node. `nominated` is another array when its pods differ. */
  rejectionWith(
    node: NodeInfo,
    { nominated, priority }: Promised,
    check: () => NodeRejection | undefined,
  ): NodeRejection | undefined {
    const { slot, changes } = node;
    const known = this.#promised.get(slot);
    if (known?.changes === changes && known.nominated === nominated && known.priority === priority) {
      return known.rejection;
    }
    this.#counts.checks++;
    const rejection = check();
    this.#promised.set(slot, { changes, nominated, priority, rejection });
    return rejection;
  }

  noteTrial(): void {
    this.#counts.trials++;
  }

  constructor(counts: SharingCounts) {
    this.#counts = counts;
  }

  rejectionOf(node: NodeInfo, check: (node: NodeInfo) => NodeRejection | undefined): NodeRejection | undefined {
    const { slot, changes } = node;
    if (this.#checkedAt[slot] === changes) return this.#rejections[slot];
    this.#makeRoom(slot);
    this.#counts.checks++;
    const rejection = check(node);
    this.#rejections[slot] = rejection;
    this.#checkedAt[slot] = changes;
    return rejection;
  }

  scoreOf(node: NodeInfo, score: (node: NodeInfo) => number): number {
    const { slot, changes } = node;
    if (this.#scoredAt[slot] === changes) return this.#scores[slot] ?? 0;
    this.#makeRoom(slot);
    this.#counts.scores++;
    const value = score(node);
    this.#scores[slot] = value;
    this.#scoredAt[slot] = changes;
    return value;
  }

  #makeRoom(slot: number): void {
    if (slot < this.#checkedAt.length) return;
    const size = Math.max(SMALLEST_SIZE, slot + 1, this.#checkedAt.length * 2);
    this.#checkedAt = enlarged(this.#checkedAt, size);
    this.#scoredAt = enlarged(this.#scoredAt, size);
    this.#scores = enlarged(this.#scores, size);
    while (this.#rejections.length < size) this.#rejections.push(undefined);
  }
}

const SMALLEST_SIZE = 64;

function enlarged(values: Float64Array<ArrayBuffer>, size: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(size);
  larger.set(values);
  return larger;
}

/** Results by what pods need of a node (`PodInfo.nodeNeeds`). The least recently used needs are evicted. */
export class SharedResults {
  readonly counts: SharingCounts = { checks: 0, scores: 0, trials: 0 };
  readonly #byProfile = new WeakMap<Profile, Map<string, NodeResults>>();

  /** `nodes`: the number of nodes. With more nodes, fewer different needs are cached. */
  of(profile: Profile, { nodeNeeds }: PodInfo, nodes: number): NodeResults {
    const byNeeds = this.#byProfile.get(profile) ?? new Map<string, NodeResults>();
    this.#byProfile.set(profile, byNeeds);
    const results = byNeeds.get(nodeNeeds) ?? new NodeResults(this.counts);
    byNeeds.delete(nodeNeeds);
    byNeeds.set(nodeNeeds, results);
    const most = Math.max(SHARED_RESULTS_MIN, Math.trunc(SHARED_RESULTS_MAX / Math.max(1, nodes)));
    const [oldest] = byNeeds.keys();
    if (byNeeds.size > most && oldest !== undefined) byNeeds.delete(oldest);
    return results;
  }
}
