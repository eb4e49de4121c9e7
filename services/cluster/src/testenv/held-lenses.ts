import type { Cluster } from '../access.ts';
import type { Lens, LensOptions } from '../lens/index.ts';
import { Problem } from './problem.ts';

export interface LensView {
  readonly id: string;
  readonly cluster: string;
  readonly kind: string;
  readonly isView: boolean;
  readonly isOn: boolean;
  readonly hits: number;
}

interface HeldLens {
  readonly cluster: string;
  readonly lens: Lens;
}

/** Each lens costs a look at each request. */
const LENSES_PER_CLUSTER_MAX = 100;

/** The lenses of all clusters of a control endpoint, by id. */
export class HeldLenses {
  readonly #clusterOf: (id: string) => Cluster;
  readonly #lenses = new Map<string, HeldLens>();
  #made = 0;

  /** `clusterOf` throws a `Problem` for an unknown id. */
  constructor(clusterOf: (id: string) => Cluster) {
    this.#clusterOf = clusterOf;
  }

  async add(clusterId: string, options: LensOptions): Promise<LensView> {
    const cluster = this.#clusterOf(clusterId);
    if (this.of(clusterId).length >= LENSES_PER_CLUSTER_MAX) {
      throw new Problem(429, `a cluster has at most ${LENSES_PER_CLUSTER_MAX} lenses`, 'Delete one.');
    }
    const lens = await cluster.lens(options);
    const id = `lens-${++this.#made}`;
    this.#lenses.set(id, { cluster: clusterId, lens });
    return this.#view(id);
  }

  of(clusterId: string): readonly LensView[] {
    this.#clusterOf(clusterId);
    const ids = [...this.#lenses].filter(([, { cluster }]) => cluster === clusterId).map(([id]) => id);
    return ids.map((id) => this.#view(id));
  }

  async turnOn(id: string): Promise<LensView> {
    await this.#held(id).lens.on();
    return this.#view(id);
  }

  turnOff(id: string): LensView {
    this.#held(id).lens.off();
    return this.#view(id);
  }

  remove(id: string): void {
    this.#held(id).lens.dispose();
    this.#lenses.delete(id);
  }

  /** The cluster is gone, or it continues from another history. */
  removeOf(clusterId: string): void {
    for (const [id, { cluster }] of this.#lenses) if (cluster === clusterId) this.#lenses.delete(id);
  }

  #view(id: string): LensView {
    const { cluster, lens } = this.#held(id);
    const { kind, isView, isOn, hits } = lens;
    return { id, cluster, kind, isView, isOn, hits };
  }

  #held(id: string): HeldLens {
    const held = this.#lenses.get(id);
    if (held !== undefined) return held;
    throw new Problem(404, `there is no lens ${JSON.stringify(id)}`, 'GET /clusters/{id}/lenses lists them.');
  }
}
