import type { Cluster } from './access.ts';
import { RunningCluster } from './cluster.ts';
import type { StartOptions } from './options.ts';
import { Snapshot } from './snapshot.ts';
import { readSnapshotFile } from './snapshot-file.ts';

export type { Cluster, ClusterAccess, NewUser } from './access.ts';
export type { StateDifference } from './difference.ts';
export type { ClusterFetch } from './fetch.ts';
export type { HistoryChange, HistoryQuery } from './history.ts';
export type { Lens, LensHit, LensKindName, LensOptions } from './lens/index.ts';
export type {
  ClusterOptions,
  HollowNodeOptions,
  LogLine,
  PodScript,
  ProcessNodeOptions,
  StartOptions,
} from './options.ts';
export type { RevisionRange } from './revision-diff.ts';
export type { Snapshot } from './snapshot.ts';

/**
 * Starts a cluster in this process: API server, scheduler, controllers and nodes. Any number of them run side by side, and share nothing.
 *
 *     await using cluster = await startCluster({ hollowNodes: 2, clock: 'virtual' });
 */
export const startCluster = async ({ from, ...options }: StartOptions = {}): Promise<Cluster> =>
  from === undefined ? RunningCluster.start({ options }) : (await loadSnapshot(from)).fork(options);

/** Reads a snapshot that `snapshot.write` or `holdfast snapshot` wrote. */
export const loadSnapshot = async (file: string): Promise<Snapshot> =>
  new Snapshot(await readSnapshotFile(file), (content) => RunningCluster.start(content));
