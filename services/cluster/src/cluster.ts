import {
  type ApiClient,
  type ApiHandler,
  type ApiRequest,
  createApiClient,
  createDirectTransport,
  TransportError,
} from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import type { Change } from '@holdfast/store';
import type { Cluster, ClusterAccess, NewUser } from './access.ts';
import type { StateDifference } from './difference.ts';
import { type ClusterFetch, createFetch } from './fetch.ts';
import { firstState } from './first-state.ts';
import { type HistoryChange, type HistoryQuery, readHistory } from './history.ts';
import { createKeys } from './keys.ts';
import { isOf, type Lens, type LensClient, Lenses, type LensOptions } from './lens/index.ts';
import { type Life, type LifeDeps, startLife } from './life.ts';
import { createMachines } from './machines.ts';
import { badOption, type ClusterConfig, type ClusterOptions, nodeNames, readOptions } from './options.ts';
import { type ClusterPort, createClusterPort } from './port.ts';
import { filtered, type RequestFilter, Requests } from './requests.ts';
import { differencesOfRevisions, type RevisionRange } from './revision-diff.ts';
import { Snapshot, type SnapshotContent } from './snapshot.ts';
import type { ClusterKeys, ClusterState } from './state.ts';
import { until } from './until.ts';
import { ClusterUsers } from './users.ts';

const SNAPSHOT_STEP = 'Take one of a cluster with hollowNodes only; its forks may have processNodes.';

export class RunningCluster implements Cluster {
  readonly client: ApiClient;
  readonly fetch: ClusterFetch;
  readonly #options: ClusterOptions;
  readonly #config: ClusterConfig;
  readonly #deps: LifeDeps;
  readonly #requests = new Requests();
  readonly #lenses = new Lenses({
    userOf: (token) => this.#deps.users.userOf(token),
    clock: () => this.#running.time.clock,
    revision: () => this.#running.revision(),
  });
  /** They see the requests of clients, not those of the components. */
  readonly filters: RequestFilter[] = [this.#lenses.filter];
  #port: ClusterPort | undefined;
  #life: Life | undefined;
  /** The state of its start. Absent: a store on disk. */
  #origin: ClusterState | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(options: ClusterOptions, keys: ClusterKeys) {
    const config = readOptions(options);
    this.#options = options;
    this.#config = config;
    const users = new ClusterUsers(nodeNames(config));
    const api = config.port === undefined ? undefined : () => this.#openPort.address();
    this.#deps = { config, keys, users, requests: this.#requests, api };
    const admin = this.#accessWith(users.admin);
    this.client = admin.client;
    this.fetch = admin.fetch;
  }

  /** Throws an `OperatorError` for options that do not fit. */
  static async start({ options, state, keys }: Partial<SnapshotContent>): Promise<RunningCluster> {
    const cluster = new RunningCluster(options ?? {}, keys ?? (await createKeys(createSystemClock().now())));
    const { port } = cluster.#config;
    if (state !== undefined) cluster.#requireMemory();
    try {
      // Pods on process nodes learn the port when they start.
      if (port !== undefined) await cluster.#listen(port);
      cluster.#origin = state ?? (await firstState(cluster.#config, cluster.#deps.keys));
      await cluster.#begin(cluster.#origin);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get kubeconfig(): string {
    return this.#kubeconfig(this.#deps.users.admin);
  }

  get url(): string {
    return this.#openPort.url();
  }

  now(): number {
    return this.#running.time.clock.now();
  }

  advance(duration: string | number): Promise<void> {
    return this.#running.time.advance(duration);
  }

  settle(): Promise<void> {
    return this.#running.time.settle();
  }

  until<T>(condition: () => T | Promise<T>, within: string | number = '1m'): Promise<T> {
    return until(this.#running.time, condition, within);
  }

  access({ name, groups = [] }: NewUser): ClusterAccess {
    if (name === '') throw badOption('a user needs a name', 'Name it, as in access({ name: "operator" }).');
    const token = this.#deps.users.add(name, groups);
    const kubeconfig = (): string => this.#kubeconfig(token);
    return {
      ...this.#accessWith(token),
      get kubeconfig() {
        return kubeconfig();
      },
    };
  }

  /** True when this client sent the request. */
  isOf(client: LensClient, request: ApiRequest): boolean {
    return isOf(client, request, (token) => this.#deps.users.userOf(token));
  }

  /** Every change of the store from now on, until the signal aborts. */
  changes(signal: AbortSignal): Promise<AsyncIterable<readonly Change[]>> {
    return this.#running.changes(signal);
  }

  lens(options: LensOptions): Promise<Lens> {
    return this.#lenses.add(options);
  }

  history(query: HistoryQuery = {}): Promise<readonly HistoryChange[]> {
    return readHistory(this.fetch, query);
  }

  diff(range: RevisionRange): Promise<readonly StateDifference[]> {
    return differencesOfRevisions(this.fetch, range);
  }

  async snapshot(): Promise<Snapshot> {
    if (this.#config.processNodes.length > 0) {
      throw badOption('a cluster with process nodes has no snapshots, as processes cannot be copied', SNAPSHOT_STEP);
    }
    await this.settle();
    const state = await this.#running.state();
    return new Snapshot({ state, options: this.#options, keys: this.#deps.keys }, (content) =>
      RunningCluster.start(content),
    );
  }

  async restore({ content }: Snapshot): Promise<void> {
    this.#requireMemory();
    await this.#continueFrom(content.state);
  }

  async reset(): Promise<void> {
    this.#requireMemory();
    await this.#continueFrom(this.#origin);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #requireMemory(): void {
    if (this.#config.sqlite === undefined) return;
    throw badOption('a SQLite store cannot continue from a snapshot', "Use store: 'memory'.");
  }

  async #begin(state: ClusterState | undefined): Promise<void> {
    this.#life = await startLife(this.#deps, state);
  }

  async #continueFrom(state: ClusterState | undefined): Promise<void> {
    const before = this.#running;
    this.#lenses.disposeAll();
    this.#life = undefined;
    await before.stop();
    await this.#begin(state);
  }

  async #listen(port: number): Promise<void> {
    const { keys, config } = this.#deps;
    const clock = createSystemClock();
    const { log } = createMachines({ ...config, clock, generation: '' })('https');
    const own = { host: config.host, port, keys, nowMs: clock.now(), log };
    const opening = await createClusterPort({ ...own, handle: this.#fromOutside });
    await opening.start();
    this.#port = opening;
  }

  async #stop(): Promise<void> {
    const life = this.#life;
    this.#lenses.disposeAll();
    this.#life = undefined;
    await this.#port?.stop();
    await life?.stop();
  }

  #accessWith(token: string): Omit<ClusterAccess, 'kubeconfig'> {
    const transport = createDirectTransport(this.#asked);
    return {
      client: createApiClient({ transport, token, userAgent: 'holdfast-cluster' }),
      fetch: createFetch(this.#asked, token),
    };
  }

  #kubeconfig(token: string): string {
    return this.#openPort.kubeconfig(token);
  }

  /** Requests of clients in this process and elsewhere. */
  readonly #asked: ApiHandler = (request) => {
    const life = this.#life;
    if (life === undefined) {
      return Promise.reject(new TransportError('the cluster does not run', { possiblySent: false }));
    }
    return filtered(this.filters, life.handle)(request);
  };

  readonly #fromOutside: ApiHandler = this.#requests.fromOutside((request) => this.#asked(request));

  get #running(): Life {
    if (this.#life === undefined) throw badOption('the cluster was stopped', 'Start another one.');
    return this.#life;
  }

  get #openPort(): ClusterPort {
    if (this.#port === undefined) {
      throw badOption('the cluster has no HTTPS port, so there is no kubeconfig', 'Start it with https: true.');
    }
    return this.#port;
  }
}
