import { formatTime } from '@holdfast/platform';
import type { Cluster, NewUser } from '../access.ts';
import type { StateDifference } from '../difference.ts';
import type { HistoryChange, HistoryQuery } from '../history.ts';
import type { ClusterOptions, StartOptions } from '../options.ts';
import type { RevisionRange } from '../revision-diff.ts';
import type { Snapshot } from '../snapshot.ts';
import { HeldLenses } from './held-lenses.ts';
import { Problem } from './problem.ts';

export interface HoldingsLimits {
  readonly clusters: number;
  readonly snapshots: number;
}

export interface HoldingsDeps {
  readonly limits: HoldingsLimits;
  readonly startCluster: (options: StartOptions) => Promise<Cluster>;
}

interface ClusterSummary {
  readonly id: string;
  readonly url: string;
  readonly clock: 'real' | 'virtual';
  readonly now: string;
}

interface ClusterView extends ClusterSummary {
  readonly kubeconfig: string;
}

interface SnapshotView {
  readonly id: string;
  readonly revision: number;
  readonly objects: number;
}

interface DifferenceView {
  readonly items: readonly StateDifference[];
  /** There are more. */
  readonly isCut: boolean;
}

/** More objects than a person or a test reads. */
const DIFFERENCES_MAX = 10_000;

interface HeldCluster {
  readonly cluster: Cluster;
  readonly clock: 'real' | 'virtual';
  /** The end of the last change. Changes of one cluster run one after the other. */
  last: Promise<unknown>;
}

/** The clusters and snapshots of one control endpoint, by id. Both are bounded. */
export class Holdings {
  readonly lenses = new HeldLenses((id) => this.#held(id).cluster);
  readonly #deps: HoldingsDeps;
  readonly #limits: ReadonlyMap<keyof HoldingsLimits, number>;
  readonly #clusters = new Map<string, HeldCluster>();
  readonly #snapshots = new Map<string, Snapshot>();
  /** Clusters that start and snapshots that are taken; they count as well. */
  readonly #coming = { clusters: 0, snapshots: 0 };
  readonly #made = { clusters: 0, snapshots: 0 };
  #isClosed = false;

  constructor(deps: HoldingsDeps) {
    this.#deps = deps;
    const { clusters, snapshots } = deps.limits;
    this.#limits = new Map([
      ['clusters', clusters],
      ['snapshots', snapshots],
    ]);
  }

  start(options: StartOptions): Promise<ClusterView> {
    return this.#startWith(options.clock, () => this.#deps.startCluster(listening(options)));
  }

  /** The options replace those of the snapshot's cluster. */
  fork(id: string, options: ClusterOptions): Promise<ClusterView> {
    const snapshot = this.#snapshot(id);
    return this.#startWith(options.clock ?? snapshot.content.options.clock, () => snapshot.fork(listening(options)));
  }

  clusters(): readonly ClusterSummary[] {
    return [...this.#clusters].map(([id, held]) => summaryOf(id, held));
  }

  cluster(id: string): ClusterView {
    return viewOf(id, this.#held(id));
  }

  addUser(id: string, { name, groups = [] }: NewUser): { readonly name: string; readonly kubeconfig: string } {
    return { name, kubeconfig: this.#held(id).cluster.access({ name, groups }).kubeconfig };
  }

  async history(id: string, query: HistoryQuery): Promise<{ readonly items: readonly HistoryChange[] }> {
    return { items: await this.#held(id).cluster.history(query) };
  }

  /** Does not wait for a step of time that is under way: it ends with the cluster. */
  async remove(id: string): Promise<void> {
    const { cluster } = this.#held(id);
    this.#clusters.delete(id);
    this.lenses.removeOf(id);
    await cluster.stop();
  }

  async advance(id: string, duration: string | number): Promise<{ readonly now: string }> {
    const held = this.#held(id);
    if (held.clock === 'real') {
      throw new Problem(409, `${id} runs on real time`, 'Create it with "clock": "virtual" to move its time.');
    }
    return this.#inTurn(id, held, async () => {
      await held.cluster.advance(duration);
      return { now: formatTime(held.cluster.now()) };
    });
  }

  async restore(id: string, snapshotId: string): Promise<ClusterView> {
    const held = this.#held(id);
    const snapshot = this.#snapshot(snapshotId);
    return this.#inTurn(id, held, async () => {
      this.lenses.removeOf(id);
      await held.cluster.restore(snapshot);
      return viewOf(id, held);
    });
  }

  async reset(id: string): Promise<ClusterView> {
    const held = this.#held(id);
    return this.#inTurn(id, held, async () => {
      this.lenses.removeOf(id);
      await held.cluster.reset();
      return viewOf(id, held);
    });
  }

  /** `to` is another snapshot, or a cluster as it is now. */
  async diff(id: string, to: string): Promise<DifferenceView> {
    const before = this.#snapshot(id);
    const held = this.#clusters.get(to);
    const after =
      held === undefined ? this.#snapshots.get(to) : await this.#inTurn(to, held, () => held.cluster.snapshot());
    if (after === undefined) {
      const text = `there is no snapshot or cluster ${JSON.stringify(to)}`;
      throw new Problem(404, text, 'GET /snapshots and GET /clusters list them.');
    }
    return shown(before.diff(after));
  }

  async diffOfRevisions(id: string, range: RevisionRange): Promise<DifferenceView> {
    return shown(await this.#held(id).cluster.diff(range));
  }

  async takeSnapshot(id: string): Promise<SnapshotView> {
    const held = this.#held(id);
    return this.#counted('snapshots', this.#snapshots.size, async () => {
      const snapshot = await this.#inTurn(id, held, () => held.cluster.snapshot());
      const snapshotId = `snapshot-${++this.#made.snapshots}`;
      this.#snapshots.set(snapshotId, snapshot);
      return snapshotViewOf(snapshotId, snapshot);
    });
  }

  snapshots(): readonly SnapshotView[] {
    return [...this.#snapshots].map(([id, snapshot]) => snapshotViewOf(id, snapshot));
  }

  removeSnapshot(id: string): void {
    this.#snapshot(id);
    this.#snapshots.delete(id);
  }

  /** Stops all clusters, also those that are starting. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const clusters = [...this.#clusters.values()];
    this.#clusters.clear();
    this.#snapshots.clear();
    await Promise.all(clusters.map(({ cluster }) => cluster.stop()));
  }

  #startWith(clock: ClusterOptions['clock'], start: () => Promise<Cluster>): Promise<ClusterView> {
    return this.#counted('clusters', this.#clusters.size, async () => {
      const cluster = await start();
      if (this.#isClosed) {
        await cluster.stop();
        throw new Problem(503, 'the control endpoint stops', 'Start `holdfast testenv` again.');
      }
      const id = `cluster-${++this.#made.clusters}`;
      const held: HeldCluster = { cluster, clock: clock ?? 'real', last: Promise.resolve() };
      this.#clusters.set(id, held);
      return viewOf(id, held);
    });
  }

  async #counted<T>(kind: keyof HoldingsLimits, present: number, make: () => Promise<T>): Promise<T> {
    const limit = this.#limits.get(kind) ?? 0;
    if (present + this.#coming[kind] >= limit) {
      throw new Problem(429, `there are ${limit} ${kind}, the limit`, `Delete one, or start with --max-${kind}.`);
    }
    this.#coming[kind] += 1;
    try {
      return await make();
    } finally {
      this.#coming[kind] -= 1;
    }
  }

  async #inTurn<T>(id: string, held: HeldCluster, act: () => Promise<T>): Promise<T> {
    const turn = held.last.then(() => {
      this.#held(id);
      return act();
    });
    held.last = turn.catch(() => {});
    return turn;
  }

  #held(id: string): HeldCluster {
    const held = this.#clusters.get(id);
    if (held !== undefined) return held;
    throw new Problem(404, `there is no cluster ${JSON.stringify(id)}`, 'GET /clusters lists them.');
  }

  #snapshot(id: string): Snapshot {
    const snapshot = this.#snapshots.get(id);
    if (snapshot !== undefined) return snapshot;
    throw new Problem(404, `there is no snapshot ${JSON.stringify(id)}`, 'GET /snapshots lists them.');
  }
}

const shown = (all: readonly StateDifference[]): DifferenceView => ({
  items: all.slice(0, DIFFERENCES_MAX),
  isCut: all.length > DIFFERENCES_MAX,
});

const listening = (options: StartOptions): StartOptions => ({ ...options, https: options.https ?? true });

const summaryOf = (id: string, { cluster, clock }: HeldCluster): ClusterSummary => ({
  id,
  url: cluster.url,
  clock,
  now: formatTime(cluster.now()),
});

const viewOf = (id: string, held: HeldCluster): ClusterView => ({
  ...summaryOf(id, held),
  kubeconfig: held.cluster.kubeconfig,
});

const snapshotViewOf = (id: string, { revision, size }: Snapshot): SnapshotView => ({ id, revision, objects: size });
