import { NODES, type Node } from '@holdfast/api';
import { type ApiClient, createInformer, type Informer } from '@holdfast/client';
import { NODE_ROUTES_PROTOCOL } from '@holdfast/kubelet/pod-network';
import { type Clock, describeError, type Log, type Random, type Service, type Timer } from '@holdfast/platform';
import { decideRoutes, type NodeRoute, type RoutePlace } from './decide-routes.ts';
import { ROUTES_LOOK_MS } from './limits.ts';
import { hasRoutes, readRoutes, routeCommands } from './route-table.ts';

export interface NodeRoutesDeps extends RoutePlace {
  /** Reads all nodes. */
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Runs `ip`; resolves with its output. */
  readonly ip: (args: readonly string[], input?: string) => Promise<string>;
  /** The text of `/proc/net/route`. */
  readonly table: () => Promise<string>;
}

/** Keeps the ways to the pods of the other nodes in this machine's routes. They stay after a stop, as the pods do. */
export class NodeRoutes implements Service {
  readonly name = 'routes to other nodes';
  readonly #deps: NodeRoutesDeps;
  readonly #nodes: Informer<Node>;
  /** What was told last: each complaint is logged once. */
  #told = '';
  #made: readonly Pick<NodeRoute, 'network' | 'via'>[] = [];
  /** The decision that was applied last. */
  #decided = '';
  #isDirty = false;
  #isStopped = false;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #unsubscribe = (): void => {};

  constructor(deps: NodeRoutesDeps) {
    this.#deps = deps;
    this.#nodes = createInformer({ ...deps, resource: NODES });
  }

  async start(): Promise<void> {
    await this.#nodes.start();
    void this.#nodes.synced().then(
      () => this.#begin(),
      // Stopped before that.
      () => {},
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#timer?.cancel();
    await this.#nodes.stop();
    await this.#running;
  }

  async #begin(): Promise<void> {
    const show = this.#deps.ip(['-4', 'route', 'show', 'proto', String(NODE_ROUTES_PROTOCOL)]);
    this.#made = readRoutes(await show.catch(() => ''));
    if (this.#isStopped) return;
    this.#unsubscribe = this.#nodes.onChange(() => {
      // Most changes are heartbeats.
      if (JSON.stringify(this.#decision()) !== this.#decided) this.#touch();
    });
    this.#touch();
    this.#look();
  }

  #look(): void {
    this.#timer = this.#deps.clock.timer(ROUTES_LOOK_MS, () => {
      this.#look();
      void this.#deps.table().then(
        (table) => {
          if (!hasRoutes(table, this.#decision().routes)) this.#touch();
        },
        () => this.#touch(),
      );
    });
  }

  #touch(): void {
    this.#isDirty = true;
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#isDirty && !this.#isStopped) {
      this.#isDirty = false;
      await this.#apply();
    }
    this.#running = undefined;
  }

  async #apply(): Promise<void> {
    const decision = this.#decision();
    const { routes, refused } = decision;
    this.#decided = JSON.stringify(decision);
    const commands = routeCommands(routes, this.#made, this.#deps.clusterNetwork);
    const complaints = refused.map(({ node, reason }) => `node ${node}: ${reason}`);
    try {
      // Also what follows a command that fails is done.
      await this.#deps.ip(['-4', '-force', '-batch', '-'], commands);
    } catch (error) {
      complaints.push(describeError(error));
    }
    this.#made = routes;
    this.#tell(complaints.join('; '));
  }

  #tell(text: string): void {
    if (text !== '' && text !== this.#told)
      this.#deps.log.warn('pods of other nodes are not reached', { reason: text });
    this.#told = text;
  }

  readonly #decision = () => decideRoutes(this.#nodes.list(), this.#deps);
}
