import type { Cluster } from './access.ts';
import { differencesBetween, type StateDifference } from './difference.ts';
import type { ClusterOptions } from './options.ts';
import { writeSnapshotFile } from './snapshot-file.ts';
import type { ClusterKeys, ClusterState } from './state.ts';

export interface SnapshotContent {
  readonly state: ClusterState;
  /** The options of the cluster that it was taken from. */
  readonly options: ClusterOptions;
  /** Absent in a snapshot from a file: its forks get new ones. */
  readonly keys?: ClusterKeys;
}

export type StartFrom = (content: SnapshotContent) => Promise<Cluster>;

/** The state of a cluster at one moment. It never changes, and any number of clusters can continue from it. */
export class Snapshot {
  readonly content: SnapshotContent;
  readonly #start: StartFrom;

  constructor(content: SnapshotContent, start: StartFrom) {
    this.content = content;
    this.#start = start;
  }

  get revision(): number {
    return this.content.state.revision;
  }

  /** The number of objects. */
  get size(): number {
    return this.content.state.objects.length;
  }

  /**
   * Starts a cluster that continues from here. Given options replace those of the first cluster; the store is in memory. With a seed, forks of one snapshot give the
   * same names and uids to the same requests.
   */
  fork(options: ClusterOptions = {}): Promise<Cluster> {
    // A port and a directory belong to one cluster.
    const { https: _, store: __, ...kept } = this.content.options;
    return this.#start({ ...this.content, options: { ...kept, ...options } });
  }

  /** What differs in another snapshot, of the same cluster or of a fork. */
  diff(other: Snapshot): readonly StateDifference[] {
    return differencesBetween(this.content.state, other.content.state);
  }

  /** Writes it to a file that `loadSnapshot` reads. The file has the secrets of the cluster: only its owner may read it. */
  write(file: string): Promise<void> {
    return writeSnapshotFile(file, this.content);
  }
}
