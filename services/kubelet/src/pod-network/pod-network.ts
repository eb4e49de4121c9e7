import { mkdirSync, realpathSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock, Log } from '@holdfast/platform';
import { gatewayOf, readNetwork } from '../domain/address-pool.ts';
import { RuntimeError } from '../runtime/port.ts';
import type { ClusterPart } from './agent/plan.ts';
import type { AgentRequest, Attachment, NftRun, Relay } from './agent/protocol.ts';
import { wayOutRefusal } from './agent/transparency.ts';
import { AgentConnection, type Ask } from './agent-connection.ts';
import { type DatagramLine, type DatagramListener, datagramLine } from './datagram-line.ts';
import { machineLinkName, machineLinkRefusal } from './machine-routes.ts';
import { OtherDatagrams } from './other-datagrams.ts';
import { type ClusterNetworks, mayReach, reachOtherNetwork } from './other-networks.ts';
import { Outside, type OutsideTarget } from './outside.ts';
import { WayOutRequest } from './way-out-request.ts';

export interface PodNetworkDeps extends ClusterNetworks {
  /** A directory with a short path, because paths of sockets are short. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** What pods reach outside, by name. */
  readonly targets: ReadonlyMap<string, OutsideTarget>;
  /** Where in the network they are reached. */
  readonly relays: () => readonly Relay[];
  /** The network of the pods here, where other nodes have other parts of the cluster's network. Absent: all pods are here. */
  readonly ownNetwork?: () => Promise<string>;
}

/** The network of a cluster's process pods: each has a namespace with an address of its own. */
export interface PodNetwork {
  /** The namespace of a sandbox; the same key gets the same one again. Groups of pods have equal shares. */
  attach(key: string, nodeNetwork: string, group?: string): Promise<Attachment>;
  detach(key: string): Promise<void>;
  /** Empty when there is no agent: none is started for this. */
  attached(): Promise<readonly Attachment[]>;
  /** A connection from here into the network. With a key: to this pod, its loopback address included. */
  dial(place: { readonly host: string; readonly port: number; readonly key?: string }): Promise<Socket>;
  /** Datagrams from here to a port of a pod, and back. */
  dialDatagrams(
    place: { readonly host: string; readonly port: number },
    listener: DatagramListener,
  ): Promise<DatagramLine>;
  /** True for addresses of pods. */
  covers(host: string): boolean;
  /** Runs nft in the namespace through which all traffic of pods goes; resolves with its output. */
  nft(nft: NftRun): Promise<string>;
  /** Calls back at each connection to an agent, whose network may be new. */
  onOpen(listener: () => void): () => void;
  /** Calls back when all namespaces are lost. */
  onLost(listener: () => void): () => void;
  start(): Promise<void>;
  /** Leaves the namespaces in place, for pods that outlive this process. */
  close(): Promise<void>;
  /** Ends the agent, and with it the network. */
  shutdown(): Promise<void>;
}

/** The target of connections to other networks. The default makes them on this machine. */
export const OTHER_NETWORKS = 'other networks';

export function createPodNetwork(deps: PodNetworkDeps): PodNetwork {
  return new AgentNetwork(deps);
}

class AgentNetwork implements PodNetwork {
  readonly #deps: PodNetworkDeps;
  readonly #connection: AgentConnection;
  readonly #outside: Outside;
  readonly #listeners = new Set<() => void>();
  readonly #openings = new Set<() => void>();
  readonly #wayOut: WayOutRequest;
  readonly #covers: (host: string) => boolean;

  constructor(deps: PodNetworkDeps) {
    this.#deps = deps;
    this.#wayOut = new WayOutRequest(deps);
    mkdirSync(deps.directory, { recursive: true, mode: 0o700 });
    const directory = realpathSync(deps.directory);
    this.#covers = coverage(deps.clusterNetwork);
    this.#outside = new Outside(
      join(directory, 'outside.sock'),
      new Map([[OTHER_NETWORKS, otherNetworks(deps)], ...deps.targets]),
    );
    this.#connection = new AgentConnection({
      ...deps,
      directory,
      onOpen: async (ask) => {
        const part = await this.#part();
        await Promise.all([
          ask({ method: 'serve', relays: this.#deps.relays() }),
          this.#leadOut(ask, part),
          this.#linkMachine(ask, part),
        ]);
        for (const listener of this.#openings) listener();
      },
      onLost: () => {
        this.#wayOut.cancel();
        for (const listener of this.#listeners) listener();
      },
    });
  }

  async #part(): Promise<ClusterPart | undefined> {
    const { clusterNetwork: all, ownNetwork } = this.#deps;
    if (ownNetwork === undefined) return undefined;
    const own = await ownNetwork();
    const network = readNetwork(own);
    if (network === undefined) throw new RuntimeError('Unsupported', `"${own}" is not a network for pods`);
    return { all, own, gateway: gatewayOf(network) };
  }

  /** The start has told what the machine does not have for it. */
  async #leadOut(ask: Ask, part: ClusterPart | undefined): Promise<void> {
    if (wayOutRefusal() !== '') return;
    const network = part?.own ?? this.#deps.clusterNetwork;
    const request = { method: 'leadOut', network, target: OTHER_NETWORKS } as const;
    await this.#wayOut.begin(() => ask(request));
  }

  /** Pods work without it, and port-forward reaches them. */
  async #linkMachine(ask: Ask, part: ClusterPart | undefined): Promise<void> {
    const { clusterNetwork, serviceNetwork, log } = this.#deps;
    const networks = [part?.own ?? clusterNetwork, ...(serviceNetwork === undefined ? [] : [serviceNetwork])];
    const name = machineLinkName(this.#deps.directory);
    // The start has told why.
    if ((await machineLinkRefusal(networks, name)) !== '') return;
    const link = { name, namespace: `/proc/${process.pid}/ns/net`, networks };
    try {
      await ask({ method: 'linkMachine', ...link, ...(part === undefined ? {} : { part }) });
    } catch (error) {
      log.warn('this machine does not reach pods at their addresses; kubectl port-forward does', { error });
    }
  }

  start(): Promise<void> {
    return this.#outside.start();
  }

  async attach(key: string, nodeNetwork: string, group = ''): Promise<Attachment> {
    return asAttachment(await this.#connection.ask({ method: 'attach', key, network: nodeNetwork, group }));
  }

  async detach(key: string): Promise<void> {
    await this.#connection.askIfThere({ method: 'detach', key });
  }

  async attached(): Promise<readonly Attachment[]> {
    const answer = await this.#connection.askIfThere({ method: 'attached' });
    return Array.isArray(answer) ? answer.map(asAttachment) : [];
  }

  dial(place: { readonly host: string; readonly port: number; readonly key?: string }): Promise<Socket> {
    return this.#connection.dial(place);
  }

  async dialDatagrams(
    { host, port }: { readonly host: string; readonly port: number },
    listener: DatagramListener,
  ): Promise<DatagramLine> {
    return datagramLine(await this.#connection.dial({ host, port, protocol: 'udp' }), listener);
  }

  covers(host: string): boolean {
    return this.#covers(host);
  }

  async nft(nft: NftRun): Promise<string> {
    return String(await this.#connection.ask({ method: 'nft', ...nft } satisfies AgentRequest));
  }

  onOpen(listener: () => void): () => void {
    this.#openings.add(listener);
    return () => this.#openings.delete(listener);
  }

  onLost(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#wayOut.cancel();
    this.#connection.close();
    await this.#outside.stop();
  }

  async shutdown(): Promise<void> {
    this.#listeners.clear();
    this.#openings.clear();
    await this.#connection.askIfThere({ method: 'stop' }).catch((error: unknown) => {
      this.#deps.log.warn('the network of pods did not end in order', { error });
    });
    await this.close();
  }
}

function otherNetworks(deps: PodNetworkDeps): OutsideTarget {
  const datagrams = new OtherDatagrams({ clock: deps.clock, mayReach: mayReach(deps) });
  return {
    reach: (place) => reachOtherNetwork(deps, place),
    exchange: (source, say) => datagrams.open(source, say),
  };
}

function coverage(clusterNetwork: string): (host: string) => boolean {
  const network = readNetwork(clusterNetwork);
  if (network === undefined) throw new RuntimeError('Unsupported', `"${clusterNetwork}" is not a network for pods`);
  return (host) => {
    const own = readNetwork(`${host}/30`);
    return own !== undefined && own.base >= network.base && own.base < network.base + network.size;
  };
}

/** The agent is our own program. */
const asAttachment = (answer: unknown): Attachment => answer as Attachment;
