import { PODS, type Pod } from '@holdfast/api';
import { createEventRecorder, createInformer, type Informer, type RunningEventRecorder } from '@holdfast/client';
import { describeError, type Service, type Timer } from '@holdfast/platform';
import { ENTRANCE_HALF_CLOSED_MS, ENTRANCE_RETRY_MS, HOST_PORTS_MAX, HOST_PORTS_PER_POD_MAX } from '../limits.ts';
import type { ProxyDeps } from '../proxy-deps.ts';
import { Connections } from './connections.ts';
import { DatagramFlows } from './datagram-flows.ts';
import { EntrancePlaces } from './entrance-places.ts';
import { type HostPort, wantedHostPorts } from './host-ports.ts';
import type { Dial, DialDatagrams, OpenPort, OpenTcpPort, OpenUdpPort } from './port.ts';
import { equalShares } from './shares.ts';

export interface HostPortEntrancesDeps extends Pick<ProxyDeps, 'client' | 'bus' | 'clock' | 'random' | 'ids' | 'log'> {
  /** The nodes of this machine whose pods have a network of their own. */
  readonly nodeNames: readonly string[];
  readonly dial: Dial;
  readonly openTcpPort: OpenTcpPort;
  readonly dialDatagrams: DialDatagrams;
  readonly openUdpPort: OpenUdpPort;
}

interface Entrance {
  /** The pod behind it may get another address. */
  current: HostPort;
  readonly opened: OpenPort;
}

/** `source.component` of its events. */
const COMPONENT = 'holdfast-host-ports';

/** Opens the host ports of pods at this machine and carries their connections to the pods. */
export class HostPortEntrances implements Service {
  readonly name = 'host ports';
  readonly #deps: HostPortEntrancesDeps;
  readonly #pods: readonly Informer<Pod>[];
  readonly #events: RunningEventRecorder;
  readonly #connections: Connections;
  readonly #flows: DatagramFlows;
  readonly #open = new Map<string, Entrance>();
  /** Reasons that were told, by port and pod. */
  #refused = new Map<string, string>();
  #running: Promise<void> | undefined;
  #isDirty = false;
  #isStopped = false;
  #retry: Timer | undefined;

  constructor(deps: HostPortEntrancesDeps) {
    this.#deps = deps;
    const [host = ''] = deps.nodeNames;
    this.#pods = deps.nodeNames.map((name) =>
      createInformer({ ...deps, resource: PODS, selection: { fieldSelector: `spec.nodeName=${name}` } }),
    );
    this.#events = createEventRecorder({ ...deps, component: COMPONENT, host });
    const places = new EntrancePlaces();
    this.#connections = new Connections(deps.dial, ENTRANCE_HALF_CLOSED_MS, places);
    this.#flows = new DatagramFlows({ clock: deps.clock, dial: deps.dialDatagrams, places });
  }

  async start(): Promise<void> {
    for (const pods of this.#pods) pods.onChange(() => this.#touch());
    await Promise.all(this.#pods.map((pods) => pods.start()));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await Promise.all(this.#pods.map((pods) => pods.stop()));
    await this.#running;
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const { current } of all) this.#flows.close(current.id);
    await Promise.all(all.map(({ opened }) => opened.close()));
    await this.#events.stop();
  }

  #touch(): void {
    this.#isDirty = true;
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#isDirty && !this.#isStopped) {
      this.#isDirty = false;
      await this.#sync();
    }
    this.#running = undefined;
  }

  async #sync(): Promise<void> {
    const pods = this.#pods.flatMap((each) => each.list());
    const wanted = wantedHostPorts(pods, HOST_PORTS_PER_POD_MAX);
    const shares = equalShares([...wanted.values()], HOST_PORTS_MAX, ({ pod }) => pod.metadata.namespace ?? '');
    await this.#closeOthers(new Map([...wanted].filter(([, port]) => shares.has(port))));
    const refused = new Map<string, string>();
    for (const port of wanted.values()) {
      const known = this.#open.get(port.id);
      if (known !== undefined) known.current = port;
      else if (this.#isStopped) return;
      else if (!shares.has(port)) this.#tell(port, `all ${HOST_PORTS_MAX} host ports are shared`, refused);
      else await this.#openOne(port, refused);
    }
    this.#refused = refused;
    if (refused.size > 0) this.#retry ??= this.#deps.clock.timer(ENTRANCE_RETRY_MS, () => this.#retryAll());
  }

  /** Connections to a pod end with its host port, and never lead to another pod. */
  async #closeOthers(wanted: ReadonlyMap<string, HostPort>): Promise<void> {
    const ended = [...this.#open].filter(
      ([id, { current }]) => wanted.get(id)?.pod.metadata.uid !== current.pod.metadata.uid,
    );
    for (const [id] of ended) {
      this.#open.delete(id);
      this.#flows.close(id);
    }
    await Promise.all(ended.map(([, { opened }]) => opened.close()));
  }

  async #openOne(port: HostPort, refused: Map<string, string>): Promise<void> {
    const { id } = port;
    try {
      const opened = await this.#listen(port);
      this.#open.set(id, { current: port, opened });
    } catch (error) {
      this.#tell(port, describeError(error), refused);
    }
  }

  #listen(port: HostPort): Promise<OpenPort> {
    const { openTcpPort, openUdpPort } = this.#deps;
    const through = () => {
      const { id, to, pod } = this.#open.get(port.id)?.current ?? port;
      return { entrance: id, namespace: pod.metadata.namespace ?? '', to };
    };
    if (port.protocol === 'UDP')
      return openUdpPort(port.at, (bytes, client) => this.#flows.carry(bytes, client, through()));
    return openTcpPort(port.at, (socket) => void this.#connections.carry(socket, through()));
  }

  /** A reason is told once. */
  #tell({ id, pod, at }: HostPort, reason: string, refused: Map<string, string>): void {
    const key = `${id} ${pod.metadata.uid}`;
    refused.set(key, reason);
    if (this.#refused.get(key) === reason) return;
    const message = `Host port ${at.port} cannot be opened at ${at.host} of this machine, it is tried again: ${reason}`;
    this.#events.event(pod, { type: 'Warning', reason: 'HostPortNotOpened', message });
  }

  #retryAll(): void {
    this.#retry = undefined;
    this.#touch();
  }
}
