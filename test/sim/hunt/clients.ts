import { SimulationFailure } from '@holdfast/testing';
import type { Scenery } from '../../chaos/clients/asking.ts';
import { Clients } from '../../chaos/clients/clients.ts';
import type { ClientKind } from '../../scenario/clients.ts';
import type { SimCluster } from '../cluster.ts';
import type { Commit } from '../committed.ts';
import { pauseOf } from './scene.ts';

export type ClientCounts = Readonly<Record<ClientKind, number>>;

export const CLIENT_RULE = 'what clients are told is true';
/** Their last requests have been answered, and watches have heard of the last change. */
const OVER_MS = 60_000;

/** The clients of a scenario on virtual time. */
export class SimClients {
  readonly #cluster: SimCluster;
  readonly #clients: Clients;
  /** Since they began: their watches start with a list. */
  readonly #commits: Commit[] = [];
  #isStopped = false;

  private constructor(cluster: SimCluster, counts: ClientCounts) {
    const { kernel } = cluster;
    const scenery: Scenery = {
      users: cluster.racers,
      random: kernel.random('clients'),
      now: () => kernel.elapsedMs,
      sleep: (ms) => pauseOf(cluster, ms),
    };
    this.#cluster = cluster;
    this.#clients = new Clients(scenery, counts);
  }

  /** None where the scenario has none: its run is then as it was without them. */
  static start(cluster: SimCluster, counts: ClientCounts): SimClients | undefined {
    return Object.values(counts).some((count) => count > 0) ? new SimClients(cluster, counts) : undefined;
  }

  committed(commit: Commit): void {
    this.#commits.push(commit);
  }

  /** When the faults are over, so that the cluster comes to rest. */
  stop(): void {
    this.#cluster.background(this.#clients.stop().then(() => void (this.#isStopped = true)));
  }

  async check(): Promise<void> {
    const { kernel, committed } = this.#cluster;
    await kernel.runUntil('the clients end', () => this.#isStopped, OVER_MS);
    const truth = { commits: this.#commits, state: committed };
    let isFinished = false;
    this.#cluster.background(this.#clients.finish(truth).then(() => void (isFinished = true)));
    await kernel.runUntil('the watches end', () => isFinished, OVER_MS);
    const [story] = this.#clients.broken(truth);
    if (story !== undefined)
      throw new SimulationFailure({ oracle: CLIENT_RULE, seed: kernel.seed, atMs: kernel.elapsedMs, story });
  }
}
